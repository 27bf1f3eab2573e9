"use strict";
// What is wrong now, above the list of runs: the sentence of `sgoodput now`, and the runs that waste GPUs or save too rarely.

const now = {
  MOST: 20,

  row(run) {
    const n = (text, label) => el("td", {class: "n", "data-label": label}, text);
    return el("tr", {},
      el("td", {class: "all"}, el("a", {href: `#/job/${encodeURIComponent(run.cluster)}/${run.job_id}`}, run.run || `job ${run.job_id_text}`)),
      el("td", {}, run.user),
      el("td", {}, el("span", {class: run.wastes_gpus ? "stuck" : null}, run.state.replace(/_/g, " "))),
      n(duration(run.seconds), "for"), n(run.gpus || "–", "GPUs"), n(run.gpus ? hours(run.gpu_seconds_lost) : "–", "GPU-hours lost"),
      el("td", {class: "all long"}, run.evidence, run.told ? el("div", {class: "told"}, run.told) : null, el("div", {}, el("code", {}, run.command))));
  },

  // The card's content.
  content(answer) {
    const wrong = answer.runs.filter((run) => run.wastes_gpus || run.state === "rarely_saved");
    const sentence = el("p", {role: "status", class: "now"}, answer.summary);
    if (wrong.length === 0) return [sentence];
    const columns = ["Run", "User", "State", "For", "GPUs", "GPU-hours lost", "What tells so, and where to look"];
    const shown = wrong.slice(0, now.MOST);
    return [sentence, el("div", {class: "scroll"}, el("table", {class: "runs wrong"},
      el("thead", {}, el("tr", {}, columns.map((name, i) => el("th", {scope: "col", class: i >= 3 && i <= 5 ? "n" : null}, name)))),
      el("tbody", {}, shown.map(now.row)))),
    shown.length < wrong.length ? el("p", {class: "soft"}, `${wrong.length - shown.length} more: sgoodput now -a`) : null];
  },

  async paint(into) {
    const answer = await data.ask("/v1/now", {allusers: 1, wrong: 1});
    into.replaceChildren(...(answer ? now.content(answer) : []).filter(Boolean));
  },
};
