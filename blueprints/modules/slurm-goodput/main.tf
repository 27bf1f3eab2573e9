locals {
  plugin_dir     = coalesce(var.plugin_dir, "${var.install_prefix}/lib/slurm")
  plugstack_conf = coalesce(var.plugstack_conf, "${var.install_prefix}/etc/slurm/plugstack.conf")
  port           = var.listen == "off" ? "" : regex("[0-9]+$", var.listen)
  url            = var.slurm_cluster_name == null || var.listen == "off" ? "" : "http://${var.slurm_cluster_name}-controller:${local.port}"

  plugstack_line = join(" ", concat(
    ["optional", "${local.plugin_dir}/spank_goodput.so", "spool=${var.spool_dir}", "socket=@goodput"],
    var.plugin_args
  ))

  settings = {
    git_url           = var.git_url == null ? "" : var.git_url
    git_ref           = var.git_ref
    package_url       = var.package_url == null ? "" : var.package_url
    install_prefix    = var.install_prefix
    plugin_dir        = local.plugin_dir
    plugstack_conf    = local.plugstack_conf
    plugstack_line    = local.plugstack_line
    spool_dir         = var.spool_dir
    shared_spool      = var.shared_spool
    database_dir      = var.database_dir
    database_copy_dir = var.database_copy_dir == null ? "" : var.database_copy_dir
    listen            = var.listen
    url               = local.url
    goodput_conf      = var.goodput_conf
  }

  # Base64, because a runner's arguments are split at blanks and values may contain blanks.
  install_args = "--extra-vars goodput_settings=${base64encode(jsonencode(local.settings))}"
  configure_args = "--settings ${base64encode(join("\n", concat(
    [for name in local.configured : "${name}=${local.settings[name]}"],
    [for line in var.goodput_conf : "goodput_conf=${line}"]
  )))}"

  # The settings that configure.sh reads, in addition to goodput_conf.
  configured = [
    "plugin_dir", "plugstack_conf", "plugstack_line", "spool_dir", "shared_spool", "database_dir", "database_copy_dir", "listen"
  ]

  install_runner = {
    type        = "ansible-local"
    destination = "slurm_goodput_install.yml"
    content     = file("${path.module}/files/install.yml")
    args        = local.install_args
  }

  # A shell script: for an ansible-local runner, the toolkit would install Ansible on the controller with apt-get before slurmctld.
  controller_runner = {
    type        = "shell"
    destination = "slurm_goodput_configure.sh"
    content     = file("${path.module}/files/configure.sh")
    args        = local.configure_args
  }
}

# The metrics that goodput-cloud.service writes, for all clusters of the project.
resource "google_monitoring_dashboard" "goodput" {
  count = var.cloud_monitoring_dashboard ? 1 : 0

  dashboard_json = file("${path.module}/files/dashboard.json")
}
