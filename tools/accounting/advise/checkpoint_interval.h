// How often to checkpoint, and what that makes of the time: the published formulas, on plain numbers.
//
// Everything is in seconds. `mttf` is the mean time to failure of the whole job, `save` how long a checkpoint
// keeps training waiting, `restart` how long a failed job takes to its next step, `interval` how long it
// trains between the end of a save and the begin of the next. `mttf` is above 0, the others are not negative,
// all are finite. An interval is absent where saving costs nothing: then shorter is always better, and there
// is no best.
#pragma once

#include <optional>

namespace goodput {

// J. W. Young, "A first order approximation to the optimum checkpoint interval", CACM 17(9), 1974.
std::optional<double> YoungInterval(double mttf, double save);

// J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 22, 2006;
// the mttf itself where a save takes twice as long or longer.
std::optional<double> DalyInterval(double mttf, double save);

// The interval that maximises PoissonGoodput, whatever a restart takes.
std::optional<double> PoissonInterval(double mttf, double save);

// The share of time that becomes progress when failures are a Poisson process and may strike during saves and
// restarts too (Daly 2006, as a share): interval / (M e^(R/M) (e^((interval + save)/M) - 1)).
double PoissonGoodput(double mttf, double save, double restart, double interval);

// Saxena et al.; counted from the begin of one save to the begin of the next, so it includes the save.
std::optional<double> SaxenaInterval(double mttf, double save, double restart);

// Kokolis et al., "Revisiting Reliability in Large-Scale Machine Learning Research Clusters", arXiv
// 2410.21680: the expected effective training time ratio, 0 where the first-order estimate is below, and its
// best interval.
double Ettr(double mttf, double save, double restart, double interval);
std::optional<double> EttrInterval(double mttf, double save);

}  // namespace goodput
