/* Strict C99 with every warning. What the header needs of the system, it includes itself. */
#include "tools/clients/goodput.h"

void StepFromC99(long long step);
void SaveFromC99(long long step);

void StepFromC99(long long step) {
  goodput_step(step);
}

void SaveFromC99(long long step) {
  goodput_checkpoint_begin(step);
  goodput_checkpoint_end(step);
}
