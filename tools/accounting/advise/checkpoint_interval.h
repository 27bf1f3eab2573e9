// How often to checkpoint, and the resulting goodput: the published formulas, on plain numbers.
//
// Everything is in seconds. `mttf` is the mean time to failure of the whole job, `save` how long a checkpoint
// blocks training, `restart` the time from a failure to the next step, `interval` the training time from the
// end of one save to the begin of the next. `mttf` is above 0, the others are not negative, all are finite.
// An interval is absent if saving costs nothing: shorter is then always better, and there is no best
// interval.
#pragma once

#include <optional>

namespace goodput {

// J. W. Young, "A first order approximation to the optimum checkpoint interval", CACM 17(9), 1974.
std::optional<double> YoungInterval(double mttf, double save);

// J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 22, 2006;
// the MTTF itself if a save takes at least twice as long.
std::optional<double> DalyInterval(double mttf, double save);

// The interval that maximises PoissonGoodput; it does not depend on `restart`.
std::optional<double> PoissonInterval(double mttf, double save);

// The share of time that becomes progress if failures are a Poisson process and may also occur during saves
// and restarts (Daly 2006, as a share): interval / (M e^(R/M) (e^((interval + save)/M) - 1)).
double PoissonGoodput(double mttf, double save, double restart, double interval);

// Saxena et al.; measured from the begin of one save to the begin of the next, so it includes the save.
std::optional<double> SaxenaInterval(double mttf, double save, double restart);

// Kokolis et al., "Revisiting Reliability in Large-Scale Machine Learning Research Clusters", arXiv
// 2410.21680: the expected effective training time ratio (0 if the first-order estimate is negative), and its
// best interval.
double Ettr(double mttf, double save, double restart, double interval);
std::optional<double> EttrInterval(double mttf, double save);

}  // namespace goodput
