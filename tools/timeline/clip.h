// A timeline seen through a window, as `sacct -T` sees a job.
#ifndef GOODPUT_TOOLS_TIMELINE_CLIP_H_
#define GOODPUT_TOOLS_TIMELINE_CLIP_H_

#include "tools/timeline/timeline.h"

namespace goodput {

// Leaves only what lies in [begin, end): intervals are cut, interruptions, signals and
// checkpoints outside dropped.
// Step counts stay those of the whole run: a step has no half.
void ClipTimeline(Timeline& timeline, Ns begin, Ns end);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_TIMELINE_CLIP_H_
