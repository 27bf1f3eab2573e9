"""Runs all scenarios at once, since most of their time is waiting: every site starts, and every scenario runs in a thread.

    STAGE = Stage()
    def setUpModule():
        unittest.addModuleCleanup(STAGE.stop)
        STAGE.start({"cgroup": (Site("cgroup", nodes=3), [(preempted, 1), (resized, 2)])})
    ...
    STAGE.outcome("cgroup", preempted)

To work on one scenario, GOODPUT_SCENARIOS=preempted,resized starts only those; the tests of the others are skipped.
"""

import concurrent.futures
import os
import unittest
from typing import Any, Callable, Dict, List, Tuple, Union

from .goodput_site import Site
from .work import Outcome, Work

Scenario = Callable[[Work], Union[Outcome, List[Outcome]]]
# By the site's name: the site, and its scenarios with the number of nodes that each needs, longest first.
Plan = Dict[str, Tuple[Site, List[Tuple[Scenario, int]]]]

# Scenarios are run by both users in turns, unless an attribute `user` selects one.
USERS = ("nobody", "root")
# No scenario takes this long: one that does has hung, and fails instead of blocking everything.
LIMIT_S = 400


def _chosen(scenario: Scenario) -> bool:
    names = os.environ.get("GOODPUT_SCENARIOS", "")
    return not names or scenario.__name__ in names.split(",")


class Stage:
    def __init__(self) -> None:
        self._outcomes: Dict[Tuple[str, str], "concurrent.futures.Future[Any]"] = {}
        self._sites: List[Site] = []

    def start(self, plan: Plan) -> None:
        for offset, (name, (site, scenarios)) in enumerate(plan.items()):
            self._start_site(offset, name, site, [pair for pair in scenarios if _chosen(pair[0])])

    def _start_site(self, offset: int, name: str, site: Site, scenarios: List[Tuple[Scenario, int]]) -> None:
        if not scenarios:
            return
        site.start()
        self._sites.append(site)
        free = list(site.cluster.nodes)
        pool = concurrent.futures.ThreadPoolExecutor(len(scenarios))
        for index, (scenario, nodes) in enumerate(scenarios):
            # On each site, a scenario is run by a different user.
            user = getattr(scenario, "user", USERS[(index + offset) % len(USERS)])
            work = Work(site, scenario.__name__, user, free[:nodes])
            if len(work.nodes) < nodes:
                raise ValueError("site %s has no nodes left for %s" % (name, scenario.__name__))
            del free[:nodes]
            self._outcomes[name, scenario.__name__] = pool.submit(scenario, work)
        pool.shutdown(wait=False)

    def stop(self) -> None:
        for site in self._sites:
            site.stop()

    def outcome(self, site: str, scenario: Scenario) -> Any:
        """site: "" if the scenario runs on one site."""
        if not _chosen(scenario):
            raise unittest.SkipTest("not among $GOODPUT_SCENARIOS")
        found = [future for (where, name), future in self._outcomes.items()
                 if name == scenario.__name__ and site in ("", where)]
        if len(found) != 1:
            raise ValueError("%d sites run %s" % (len(found), scenario.__name__))
        return found[0].result(timeout=LIMIT_S)
