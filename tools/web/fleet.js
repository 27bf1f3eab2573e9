"use strict";
// All GPUs of the cluster over the requested time: what jobs achieved on those they held, and the state of the others.

const fleet = {
  since: "now-7days",

  // What is known, or all of it if nothing is.
  parts(row) {
    const all = row.held.concat(row.unheld).filter((part) => part.gpu_seconds > 0);
    const known = all.filter((part) => part.name !== "unknown");
    return known.length ? known : all;
  },

  unknown(row) {
    const unknown = row.unheld.find((part) => part.name === "unknown");
    return unknown ? unknown.gpu_seconds : 0;
  },

  between(value, range) {
    if (range && range[1] - range[0] > 0.0005) return `${percent(range[0])} to ${percent(range[1])}`;
    return percent(value);
  },

  goodput(row) {
    const unseen = fleet.unknown(row) > 0 && row.scheduling !== null && row.scheduling_range ? `${percent(row.scheduling_range[0])} to ${percent(row.scheduling_range[1])} with what was not seen` : null;
    const parts = [run.number("scheduling", unseen ? percent(row.scheduling) : fleet.between(row.scheduling, row.scheduling_range), unseen), el("em", {}, "×"), run.number("runtime", fleet.between(row.runtime, row.runtime_range))];
    if (row.program !== null) {
      parts.push(el("em", {}, "×"), run.number("program", percent(row.program), `of ${percent(row.program_share)} of productive time`));
      if (row.mpg !== null) parts.push(el("em", {}, "="), run.number("ML productivity goodput", percent(row.mpg)));
    }
    return el("div", {class: "numbers"}, parts);
  },

  row(row) {
    const known = row.capacity_gpu_seconds - fleet.unknown(row);
    const share = (seconds) => percent(known > 0 ? seconds / known : null);
    const unheld = Object.fromEntries(row.unheld.map((part) => [part.name, part.gpu_seconds]));
    return [row.group || "all", row.nodes, hours(row.capacity_gpu_seconds), share(row.held_gpu_seconds), share(unheld.idle || 0), share((unheld.down || 0) + (unheld.drained || 0)),
      fleet.between(row.scheduling, row.scheduling_range), fleet.between(row.runtime, row.runtime_range), percent(row.mpg), draw.bar(fleet.parts(row), (part) => part.gpu_seconds)];
  },

  paint(place, answer) {
    const total = answer.total;
    if (total.capacity_gpu_seconds === 0) {
      place.replaceChildren(card("", el("p", {}, "No GPUs are recorded for this time. goodputd's controller role records the cluster's nodes.")));
      return;
    }
    const parts = fleet.parts(total);
    const watched = answer.watched_ns / Math.max(answer.end_ns - answer.begin_ns, 1);
    const unknown = fleet.unknown(total);
    const known = total.capacity_gpu_seconds - unknown;
    place.replaceChildren(
      card(`Cluster ${answer.cluster}`,
        el("p", {class: "soft"}, `${time(answer.begin_ns)} to ${time(answer.end_ns)} ${zone()}, ${counted(total.nodes, "node")}, ${hours(total.capacity_gpu_seconds)} GPU-h`),
        unknown > 0 ? el("p", {role: "note"}, `For ${percent(unknown / total.capacity_gpu_seconds)} of it nobody saw the nodes: goodputd on the controller watched for ${percent(watched)} of this time. ` +
          (known > 0 ? `The shares below are of the ${hours(known)} GPU-h that were seen; a range says what the others may add.` : "It counts from its first start on.")) : null,
        fleet.goodput(total)),
      card("All GPUs", draw.bar(parts, (part) => part.gpu_seconds), draw.legend(parts.map((part) => part.name)),
        table([{name: "What"}, {name: "GPU-h", n: 1}, {name: "Share", n: 1}], parts.map((part) => [part.name, hours(part.gpu_seconds), percent(known > 0 ? part.gpu_seconds / known : null)]))),
      card("By partition", table([{name: "Partition"}, {name: "Nodes", n: 1}, {name: "GPU-h", n: 1}, {name: "Held", n: 1}, {name: "Idle", n: 1}, {name: "Down", n: 1}, {name: "Scheduling", n: 1}, {name: "Runtime", n: 1}, {name: "MPG", n: 1}, {name: "Where it went"}],
        answer.rows.map(fleet.row))),
      ...(answer.unplaced_gpu_seconds > 0 ? [el("p", {class: "soft"}, `${hours(answer.unplaced_gpu_seconds)} GPU-h more were held on nodes that are not recorded.`)] : []));
  },

  async view(main) {
    const since = el("select", {"aria-label": "since"},
      [["now-1days", "a day"], ["now-7days", "7 days"], ["now-30days", "30 days"]].map(([value, text]) => el("option", {value, selected: value === fleet.since ? "" : null}, text)));
    const place = el("div", {});
    main.replaceChildren(el("h1", {class: "unseen"}, "Fleet"), el("div", {class: "tools"}, since), place);
    since.addEventListener("change", () => { fleet.since = since.value; page.show(); });
    async function load() {
      const answer = await data.ask("/v1/report", {fleet: 1, by: "partition", starttime: fleet.since});
      if (answer === null) place.replaceChildren(card("", el("p", {}, "Nothing is recorded for the cluster yet.")));
      else fleet.paint(place, answer);
    }
    await load();
    return {again: load, keys: {}};
  },
};
