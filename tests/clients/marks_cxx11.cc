// C++11, after headers that have said what of POSIX they want.
#include <cstdio>
#include <string>

#include "tools/clients/goodput.h"

void StepFromCxx11(long long step);

void StepFromCxx11(long long step) {
  goodput_step(step);
}
