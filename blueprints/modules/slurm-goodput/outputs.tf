output "install_runner" {
  description = "Runner for the image build, after the installation of Slurm. It builds and installs the plugin, goodputd and sgoodput."
  value       = local.install_runner

  precondition {
    condition     = var.git_url != null || var.package_url != null
    error_message = "Set git_url or package_url: where to get slurm-goodput."
  }
}

output "controller_runner" {
  description = "Runner for the controller's start: sets up folders, the service and the line in plugstack.conf. It needs no network and never fails."
  value       = local.controller_runner
}

output "runners" {
  description = "Both runners, for a machine that is built and started in one step."
  value       = [local.install_runner, local.controller_runner]
}

output "plugstack_line" {
  description = "The line that loads the plugin."
  value       = local.plugstack_line
}

output "instructions" {
  description = "What to do when the cluster is up."
  value       = <<-EOT
    Goodput of this cluster's jobs:
      on a login node:  sgoodput                       your runs since midnight
                        sgoodput show JOB              where its time went
      on the controller, as root:  sgoodput doctor     checks that all parts work and nothing is lost
    ${local.url == "" ? "On login nodes, query the controller with sgoodput --url http://CONTROLLER:9645." : "The page of all runs: ${local.url}/ (from inside the network)."}
  EOT
}
