// The only file that includes <slurm/spank.h>. That header declares the hooks outside extern "C" and without
// the visibility they need in this build; both are corrected here.
#pragma once

#pragma GCC visibility push(default)
extern "C" {
#include <slurm/spank.h>
}
#pragma GCC visibility pop
