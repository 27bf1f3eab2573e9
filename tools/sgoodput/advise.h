// `sgoodput advise`, for other subcommands.
#pragma once

#include "tools/accounting/report/advise_report.h"

namespace goodput {

// Advice on a measured run. `busbw`: expected bandwidth, Config::busbw.
AdviseReport AdviseOn(const Timeline& timeline, const Account& account, double busbw);

}  // namespace goodput
