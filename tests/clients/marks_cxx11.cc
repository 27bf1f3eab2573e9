// Checks that goodput.h compiles as C++11, after headers that have already set POSIX feature macros.
#include <cstdio>
#include <string>

#include "tools/clients/goodput.h"

void StepFromCxx11(long long step);

void StepFromCxx11(long long step) {
  goodput_step(step);
}
