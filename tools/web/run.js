"use strict";
// One run: its goodput, its timeline, its waterfall, and the tables behind them.

const run = {
  number(label, value, more) {
    return el("div", {}, el("b", {}, value), el("span", {}, label), more ? el("span", {}, more) : null);
  },

  goodput(job) {
    const g = job.goodput;
    const between = (range) => range && range[1] - range[0] > 0.0005 ? `${percent(range[0])} to ${percent(range[1])}` : null;
    const parts = [run.number("scheduling", percent(g.scheduling), between(g.scheduling_range)), el("em", {}, "×"),
      run.number("runtime", g.runtime === null && between(g.runtime_range) ? between(g.runtime_range) : percent(g.runtime), g.runtime === null ? null : between(g.runtime_range))];
    parts.push(el("em", {}, "="), run.number("progress", percent(g.sg_rg)));
    if (g.program !== null) parts.push(el("em", {}, "×"), run.number("program", percent(g.program)), el("em", {}, "="), run.number("ML productivity goodput", percent(g.mpg)));
    return el("div", {class: "numbers"}, parts);
  },

  // One sentence: what became progress, and the largest losses.
  sentence(job) {
    const weight = (bucket) => job.gpus > 0 ? bucket.gpu_seconds : bucket.seconds;
    const wanted = job.buckets.filter((bucket) => bucket.side !== "excluded");
    const total = wanted.reduce((sum, bucket) => sum + weight(bucket), 0);
    if (total === 0) return null;
    const share = (bucket) => percent(weight(bucket) / total);
    const productive = wanted.filter((bucket) => bucket.side === "productive").reduce((sum, bucket) => sum + weight(bucket), 0);
    const losses = wanted.filter((bucket) => ["scheduling", "runtime"].includes(bucket.side) && weight(bucket) / total >= 0.001).sort((a, b) => weight(b) - weight(a)).slice(0, 3);
    const open = wanted.filter((bucket) => ["open", "unknown"].includes(bucket.side)).reduce((sum, bucket) => sum + weight(bucket), 0);
    const unit = job.gpus > 0 ? "GPU-hours" : "hours";
    return `Of ${hours(total)} ${unit} wanted, ${open > 0 ? "at least " : ""}${percent(productive / total)} became progress` +
      (losses.length ? "; most was lost to " + losses.map((bucket) => `${bucket.name} (${share(bucket)})`).join(", ") : "") +
      (open > 0 ? `; ${percent(open / total)} is not known yet` : "") + ".";
  },

  attempts(job) {
    return shortened([{name: "#", n: 1}, {name: "Job", n: 1, wide: 1}, {name: "Submit", wide: 1}, {name: "Start"}, {name: "End"}, {name: "State"}, {name: "Nodes", n: 1, wide: 1}, {name: "GPUs", n: 1}, {name: "Steps", n: 1}, {name: "Kept to", n: 1}],
      job.attempts.map((a, i) => [i + 1, a.job_id === null ? "–" : a.job_id, time(a.submit_ns), time(a.start_ns), time(a.end_ns, false), a.state, a.nodes, a.gpus,
        a.first_step === null ? "–" : `${a.first_step}–${a.last_step}`, a.kept_step === null ? "–" : a.kept_step]), 40);
  },

  interruptions(job) {
    return shortened([{name: "When"}, {name: "Cause"}, {name: "Since checkpoint", n: 1, wide: 1}, {name: "Noticed", n: 1, wide: 1}, {name: "Resources", n: 1, wide: 1}, {name: "First step", n: 1, wide: 1}, {name: "Evidence", long: 1}],
      job.interruptions.map((i) => [time(i.time_ns), [i.cause, i.planned ? ", planned" : "", i.node ? ` (${i.node})` : ""].join(""), duration(i.t_ch_s), duration(i.t_detect_s), duration(i.t_re_s), duration(i.t_rm_s),
        el("details", {}, el("summary", {}, i.evidence[0] || "none"), el("ul", {class: "why"}, i.evidence.slice(1).map((text) => el("li", {}, text))))]), 40);
  },

  // What made it stall, as far as it is known, with each stall in full.
  stalls(job) {
    return shortened([{name: "Since"}, {name: "Step", n: 1}, {name: "Attempt", n: 1, wide: 1}, {name: "Lost", n: 1}, {name: "Then", wide: 1}, {name: "Evidence", long: 1}],
      job.stalls.map((s) => [time(s.last_progress_ns), s.step, s.attempt + 1, duration(s.seconds), s.recovered ? "it continued" : "it ended, or still stalls",
        s.told.length ? el("ul", {class: "why"}, s.told.map((text) => el("li", {}, text))) : "none"]), 40);
  },

  signals(job) {
    return table([{name: "When"}, {name: "Signal"}, {name: "From"}, {name: "Tasks", n: 1}, {name: "Handled"}, {name: "Outcome"}, {name: "Grace", n: 1, wide: 1}],
      draw.deliveries(job.signals).map((s) => [time(s.time_ns), s.signal, s.sender || "–", s.tasks, s.handled === null ? "–" : s.handled ? "yes" : "no", draw.outcome(s), duration(s.grace_s)]));
  },

  buckets(job) {
    const rows = [];
    for (const bucket of job.buckets) {
      if (bucket.ns === 0 && bucket.gpu_seconds === 0) continue;
      rows.push([bucket.name, duration(bucket.seconds), percent(bucket.ns / Math.max(job.wall_ns, 1)), hours(bucket.gpu_seconds), bucket.evidence]);
      for (const part of bucket.parts) rows.push([el("span", {class: "soft"}, "  " + part.name), duration(part.seconds), "", hours(part.gpu_seconds), part.evidence]);
    }
    return table([{name: "Bucket"}, {name: "Time", n: 1}, {name: "Share of wall", n: 1, wide: 1}, {name: "GPU-h", n: 1}, {name: "Evidence"}], rows);
  },

  proof(job) {
    const ledger = job.ledger, accounting = job.accounting;
    const lines = [`Steps: ${job.steps.count} executed, ${job.steps.kept} kept, ${job.steps.lost} lost, ${job.steps.at_risk} at risk; median ${duration(job.steps.median_s)}.`];
    if (ledger.holds !== null) lines.push(`Ledger: ${ledger.kept} kept = steps ${ledger.first} to ${ledger.last}, ${ledger.holds ? "each once" : "not each once"}.`);
    lines.push(`Accounting: ${accounting.allocated_gpu_seconds} GPU-s by ${accounting.evidence}, ${accounting.buckets_gpu_seconds} in the buckets: ${accounting.agrees ? "they agree" : "they differ"}.`);
    for (const difference of accounting.differences) lines.push(`${difference.gpu_seconds} GPU-s: ${difference.why}`);
    return el("ul", {class: "why"}, lines.map((line) => el("li", {}, line)));
  },

  paint(main, job) {
    document.title = (job.run || "job " + job.job_id) + " · slurm-goodput";
    const sections = [
      el("h1", {}, job.run ? `Run ${job.run}` : `Job ${job.job_id}`, " ", el("span", {class: "soft"}, job.name)),
      el("p", {class: "soft"}, `user ${job.user || "–"}, account ${job.account || "–"}, partition ${job.partition || "–"}, ${job.state}${job.gpus ? ", " + counted(job.gpus, "GPU") : ""}; submitted ${time(job.submit_ns)} ${zone()}, wall ${duration(job.wall_s)}, ${counted(job.attempts.length, "attempt")}`),
      stuck(job) ? el("p", {class: "stuck"}, `${stuck(job)}, since ${time(job.no_progress_since_ns)}`) : "",
      card("Goodput", run.goodput(job), el("p", {class: "sentence"}, run.sentence(job))),
      (job.what_to_do || []).length ? card("What to do", el("ol", {class: "todo"}, job.what_to_do.map((text) => el("li", {}, text)))) : "",
      card("Timeline", draw.timeline(job)),
      card("From wanted to progress", draw.waterfall(job)),
    ];
    if (job.interruptions.length) sections.push(card("Interruptions", run.interruptions(job)));
    if (job.stalls.length) sections.push(card("Stalls", run.stalls(job)));
    sections.push((job.attempts.length > 1 ? card : folded)("Attempts", run.attempts(job)));
    if (job.signals.length) sections.push(card("Signals", job.signals_summary ? el("p", {}, job.signals_summary) : null, run.signals(job), (job.signals_warnings || []).map((text) => el("p", {class: "soft"}, "warning: " + text))));
    sections.push(folded("Buckets", run.buckets(job)));
    sections.push(folded("Other definitions of goodput", table([{name: "Definition"}, {name: "Goodput", n: 1}], Object.entries(job.definitions).map(([name, value]) => [name, percent(value)])), job.google_api_why ? el("p", {class: "soft"}, job.google_api_why) : null));
    sections.push(folded("Proof", run.proof(job)));
    main.replaceChildren(...sections);
  },

  async view(main, parameters) {
    async function load() {
      if (draw.zoomed) return true;
      const answer = await data.ask("/v1/show", {...parameters, timeline: 1});
      if (answer === null || answer.jobs.length === 0) {
        main.replaceChildren(card("", el("p", {}, "There is no such run, or you are not allowed to see it.")));
        return false;
      }
      run.paint(main, answer.jobs[0]);
      return answer.jobs[0].end_ns === null;
    }
    draw.zoomed = false;
    const running = await load();
    // While a timeline is zoomed, load() does not redraw it.
    return {again: running ? load : null, keys: {}};
  },
};
