// The summary of what to do about a run: its largest avoidable losses, each in one sentence with cause, fix
// and evidence.
#pragma once

#include <string>
#include <vector>

#include "tools/accounting/advise/advice.h"
#include "tools/accounting/advise/measure.h"
#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// At most three sentences, the largest loss first. `advice` is ordered by Rank(). Not empty for a run that
// ever had resources.
std::vector<std::string> WhatToDo(const Timeline& timeline, const Account& account, const Measured& measured,
                                  const std::vector<Advice>& advice);

}  // namespace goodput
