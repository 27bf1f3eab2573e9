// Is this image of the plugin the one that works? plugstack.conf may list it twice: then the second copy must
// be silent and do nothing, or every event would be counted twice.
#pragma once

namespace goodput {

// True for the first image called "goodput" among those loaded into this process. The same file listed twice
// is one image; the callers tell its two rounds of calls apart by themselves. The dynamic linker's list is
// asked because it is the one process-wide place that neither leaks into a job's environment nor needs an
// exported symbol.
bool IsFirstImage() noexcept;

}  // namespace goodput
