// Tells whether this copy of the plugin is the active one. plugstack.conf may list the plugin twice; the
// second copy must do nothing, or every event would be counted twice.
#pragma once

namespace goodput {

// True for the first image called "goodput" among those loaded into this process. The same file listed twice
// is one image; callers tell its two rounds of calls apart themselves. Uses the dynamic linker's list because
// it is the one process-wide place that neither leaks into a job's environment nor needs an exported symbol.
bool IsFirstImage() noexcept;

}  // namespace goodput
