variable "git_url" {
  description = "Repository of slurm-goodput that the image build clones; unused with `package_url`."
  type        = string
  default     = null

  validation {
    condition     = var.git_url == null || can(regex("^(https|ssh|git)://[^[:space:]]+$", var.git_url))
    error_message = "git_url must be an https, ssh or git URL without blanks."
  }
}

variable "git_ref" {
  description = "Tag, branch or commit to build. With a tag or commit, every image is the same."
  type        = string
  default     = "main"

  validation {
    condition     = can(regex("^[A-Za-z0-9._/-]+$", var.git_ref))
    error_message = "git_ref must be a tag, branch or commit."
  }
}

variable "package_url" {
  description = "URL or path of a release tarball (`make dist`) to build instead of a clone. Building it needs no network."
  type        = string
  default     = null

  validation {
    condition     = var.package_url == null || can(regex("^(https://|/)[^[:space:]]+\\.tar\\.(xz|gz)$", var.package_url))
    error_message = "package_url must be an https URL or an absolute path that ends in .tar.xz or .tar.gz."
  }
}

variable "install_prefix" {
  description = "Where Slurm is installed on the image: its headers are in PREFIX/include, its configuration in PREFIX/etc/slurm."
  type        = string
  default     = "/usr/local"

  validation {
    condition     = can(regex("^/[^[:space:]]*$", var.install_prefix))
    error_message = "install_prefix must be an absolute path without blanks."
  }
}

variable "plugin_dir" {
  description = "Slurm's PluginDir, on each node's own disk. Default: PREFIX/lib/slurm."
  type        = string
  default     = null

  validation {
    condition     = var.plugin_dir == null || can(regex("^/[^[:space:]]+$", var.plugin_dir))
    error_message = "plugin_dir must be an absolute path without blanks."
  }
}

variable "plugstack_conf" {
  description = "The controller's plugstack.conf, which nodes of a configless cluster fetch. Default: PREFIX/etc/slurm/plugstack.conf."
  type        = string
  default     = null

  validation {
    condition     = var.plugstack_conf == null || can(regex("^/[^[:space:]]+$", var.plugstack_conf))
    error_message = "plugstack_conf must be an absolute path without blanks."
  }
}

variable "plugin_args" {
  description = "More arguments for the plugin's line in plugstack.conf, for example [\"default=off\"]."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for arg in var.plugin_args : can(regex("^[a-z_]+=[^[:space:]#]+$", arg))])
    error_message = "plugin_args must be key=value pairs without blanks or #."
  }
}

variable "spool_dir" {
  description = "The folder of each node's records, on the node's local disk, never on NFS."
  type        = string
  default     = "/var/spool/slurm-goodput"

  validation {
    condition     = can(regex("^/[^[:space:]]+$", var.spool_dir))
    error_message = "spool_dir must be an absolute path without blanks."
  }
}

variable "shared_spool" {
  description = "A folder shared by nodes and controller, to which nodes copy their records. Only root can enter it."
  type        = string
  default     = "/opt/apps/.slurm-goodput-spool"

  validation {
    condition     = can(regex("^/[^[:space:]]+$", var.shared_spool))
    error_message = "shared_spool must be an absolute path without blanks."
  }
}

variable "database_dir" {
  description = "The folder of the database on the controller, on a disk that is kept when the machine is replaced."
  type        = string
  default     = "/var/spool/slurm/goodput"

  validation {
    condition     = can(regex("^/[^[:space:]]+$", var.database_dir))
    error_message = "database_dir must be an absolute path without blanks."
  }
}

variable "database_copy_dir" {
  description = "A folder for daily copies of the database. Null: no copies."
  type        = string
  default     = null

  validation {
    condition     = var.database_copy_dir == null || can(regex("^/[^[:space:]]+$", var.database_copy_dir))
    error_message = "database_copy_dir must be an absolute path without blanks."
  }
}

variable "listen" {
  description = "Where the controller answers queries (`sgoodput --url`, Prometheus, the web page): ADDRESS:PORT, or off."
  type        = string
  default     = "0.0.0.0:9645"

  validation {
    condition     = can(regex("^(off|(\\[[0-9a-fA-F:]+\\]|[0-9.]+):[0-9]{1,5})$", var.listen))
    error_message = "listen must be ADDRESS:PORT, for example 0.0.0.0:9645, or off."
  }
}

variable "slurm_cluster_name" {
  description = "The cluster's name: `sgoodput` on login nodes queries NAME-controller. Null: it needs --url there."
  type        = string
  default     = null

  validation {
    condition     = var.slurm_cluster_name == null || can(regex("^[a-z]([-a-z0-9]{0,19})$", var.slurm_cluster_name))
    error_message = "slurm_cluster_name must be a lower-case letter followed by at most 19 lower-case letters, digits or hyphens, as Cluster Toolkit requires."
  }
}

variable "goodput_conf" {
  description = "More lines for goodput.conf on nodes and controller, for example [\"heartbeat = 30s\"]."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for line in var.goodput_conf : can(regex("^[^\\n]*$", line))])
    error_message = "goodput_conf must be a list of lines: no string may contain a newline."
  }
}

variable "cloud_monitoring_dashboard" {
  description = "Create a Cloud Monitoring dashboard of the runs of all clusters of the project. It shows what goodput-cloud writes (`cloud_metrics`)."
  type        = bool
  default     = false
}
