// The only place that includes <slurm/spank.h>. That header declares the hooks outside extern "C" and with
// the default visibility this build turns off: both are mended here.
#pragma once

#pragma GCC visibility push(default)
extern "C" {
#include <slurm/spank.h>
}
#pragma GCC visibility pop
