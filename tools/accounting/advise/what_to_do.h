// What to do about a run, for who has a moment: its largest avoidable losses, each a sentence with its cause,
// what mends it and by which evidence.
#pragma once

#include <string>
#include <vector>

#include "tools/accounting/advise/advice.h"
#include "tools/accounting/advise/measure.h"
#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// At most three sentences, the largest loss first. `advice` as Rank() orders it. Never none of a run that
// ever had resources.
std::vector<std::string> WhatToDo(const Timeline& timeline, const Account& account, const Measured& measured,
                                  const std::vector<Advice>& advice);

}  // namespace goodput
