"use strict";
// All GPUs of the cluster over the requested time: what jobs achieved on those they held, and the state of the others.
// A page that `sgoodput --fleet-db URL page` wrote has the same of many clusters.

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

  // Of rows of `report`: by user, reservation ...; `what`: the names of its keys. The fleet database knows program goodput.
  groups(what, rows) {
    const names = [what].flat();
    const group = (row, i) => names.length > 1 ? row.groups[i] : row.group;
    const program = rows.some((row) => row.program !== undefined && row.program !== null);
    const of = (row, name) => row.buckets.find((bucket) => bucket.name === name).gpu_seconds;
    const number = (name, value, text) => ({name, n: 1, value, text});
    return sortable([
      ...names.map((name, i) => ({name, long: 1, value: (row) => group(row, i), text: (row) => group(row, i) || "–"})),
      number("Runs", (row) => row.runs, (row) => row.runs),
      number("GPU-h", (row) => row.wanted_gpu_hours, (row) => hours(3600 * row.wanted_gpu_hours)),
      number("Progress", (row) => of(row, "productive"), (row) => hours(of(row, "productive"))),
      number("Lost work", (row) => of(row, "lost_work"), (row) => hours(of(row, "lost_work"))),
      number("Interruptions", (row) => row.interruptions, (row) => row.interruptions),
      number("Scheduling", (row) => row.scheduling, (row) => fleet.between(row.scheduling, row.scheduling_range)),
      number("Runtime", (row) => row.runtime === null && row.runtime_range ? row.runtime_range[0] : row.runtime, (row) => fleet.between(row.runtime, row.runtime_range)),
      ...(program ? [number("Program", (row) => row.program, (row) => percent(row.program)), number("MPG", (row) => row.mpg, (row) => percent(row.mpg))] : []),
    ], rows, "GPU-h");
  },

  // A square for each node, darker the more often it failed, and those that fail more often than by chance by name.
  nodes(rows) {
    const known = rows.filter((row) => (row.groups ? row.groups[row.groups.length - 1] : row.group) !== "-");
    const most = Math.max(1, ...known.map((row) => row.node_failures));
    const suspects = known.filter((row) => row.chance !== null && row.chance < 0.01).map((row) => row.group);
    const squares = known.map((row) => el("i", {class: "node" + (row.node_failures > 0 ? " failed" : "") + (suspects.includes(row.group) ? " suspect" : ""), "data-failures": row.node_failures,
      style_opacity: row.node_failures > 0 ? 0.4 + 0.6 * row.node_failures / most : null, ...tip.on(`${row.group}\n${counted(row.node_failures, "failure")}, ${counted(row.runs, "run")}` + (row.chance === null ? "" : `\nby chance: ${percent(row.chance)}`))}));
    const failures = known.reduce((sum, row) => sum + row.node_failures, 0);
    return [el("div", {class: "nodes", role: "img", "aria-label": `${counted(known.length, "node")}, ${counted(failures, "failure")}`}, squares),
      el("p", {}, suspects.length ? `More failures than chance allows: ${suspects.join(", ")}. See ` : `${counted(failures, "failure")} of ${counted(known.length, "node")}; no node fails more often than by chance. See `, el("code", {}, "sgoodput report -a --by node --suspects"))];
  },

  // What is asked about runs: title, key of `report --by`, and its drawing.
  CARDS: [["By day", "day", (rows) => draw.days(rows)], ["Users", "user", (rows) => fleet.groups("User", rows)],
    ["How machines were obtained", "reservation", (rows) => fleet.groups("Reservation", rows)], ["Nodes", "node", (rows) => fleet.nodes(rows)]],

  // Each card as its answer comes. A question that is refused, since it costs too much or is not allowed, says so.
  async more(place) {
    const asked = {starttime: fleet.since, truncate: 1, allusers: 1};
    const cards = fleet.CARDS;
    const boxes = cards.map(([title]) => card(title, el("p", {class: "soft"}, "asking ...")));
    place.replaceChildren(...boxes);
    await Promise.all(cards.map(async ([, by, content], i) => {
      let shown;
      try {
        const answer = await data.ask("/v1/report", {...asked, by});
        shown = answer && answer.rows.length ? content(answer.rows) : el("p", {class: "soft"}, "No run in this time.");
      } catch (error) {
        shown = el("p", {class: "soft"}, error.message);
      }
      boxes[i].replaceChildren(boxes[i].firstChild, ...[shown].flat());
    }));
  },

  // What the questions of `more` leave out: how goodput changed over the last weeks. Each week costs as much as the first question of
  // the view, so that one is asked after the other.
  async weeks(place, count) {
    place.replaceChildren(card("By week", el("p", {class: "soft"}, "asking ...")));
    const week = 7 * 86400, now = Math.floor(Date.now() / 1000);
    const rows = [];
    let content;
    try {
      for (let back = 1; back <= count; back++) {
        const answer = await data.ask("/v1/report", {fleet: 1, by: "partition", starttime: "@" + (now - back * week), endtime: "@" + (now - (back - 1) * week)});
        if (answer === null) break;  // older than the records
        if (answer.total.held_gpu_seconds > 0) rows.unshift({...answer.total, group: fleet.date((now - back * week) * 1e9)});
      }
      content = rows.length === 0 ? el("p", {class: "soft"}, "No run in this time.")
        : [draw.shares(rows, [["MPG", "mpg"], ["scheduling", "scheduling"], ["runtime", "runtime"], ["program", "program"]]),
          table([{name: "Week from"}, {name: "GPU-h held", n: 1}, {name: "Scheduling", n: 1}, {name: "Runtime", n: 1}, {name: "Program", n: 1}, {name: "MPG", n: 1}],
            rows.map((row) => [row.group, hours(row.held_gpu_seconds), percent(row.scheduling), fleet.between(row.runtime, row.runtime_range), percent(row.program), percent(row.mpg)]))];
    } catch (error) {
      content = el("p", {class: "soft"}, error.message);
    }
    place.replaceChildren(card("By week", content));
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

  // A cluster chose its address: nothing but a page of the web is a link.
  link(url, hash, text) {
    return /^https?:\/\//.test(url) ? el("a", {href: url.replace(/\/+$/, "") + "/" + hash, rel: "noreferrer"}, text) : text;
  },

  // Time of all nodes, of GPUs or, if none are known, of the nodes themselves: what is known, and what is not.
  used(row, gpus) {
    return Object.entries(gpus ? row.gpu_ns : row.node_ns).filter(([name, ns]) => ns > 0 && name !== "off").map(([name, ns]) => ({name, gpu_seconds: ns / 1e9}));
  },

  date(ns) {
    return new Date(ns / 1e6).toISOString().slice(0, 10);
  },

  // The page of many clusters. `use` is of all nodes, `reports` are of runs.
  written(main, all) {
    const {use, reports} = all;
    const urls = Object.fromEntries(all.clusters.map((of) => [of.cluster, of.url]));
    document.getElementById("live").textContent = `written ${time(all.written_ns)} ${zone()} by sgoodput page`;
    document.title = "Fleet of clusters";
    const gpus = Object.values(use.total.gpu_ns).some((ns) => ns > 0);
    const unit = gpus ? "GPU-h" : "node-h";
    const parts = fleet.used(use.total, gpus);
    const sum = (some) => some.reduce((seconds, part) => seconds + part.gpu_seconds, 0);
    const known = (some) => some.filter((part) => part.name !== "unknown");
    const share = (some, name) => percent(sum(known(some)) > 0 ? sum(some.filter((part) => part.name === name)) / sum(known(some)) : null);
    const total = reports.cluster.total;
    const held = (row) => row.buckets.filter((bucket) => bucket.gpu_seconds > 0 && bucket.name !== "hold");
    const runs_of = Object.fromEntries(reports.cluster.rows.map((row) => [row.group, row]));
    const used_of = Object.fromEntries(use.rows.map((row) => [row.groups[0], row]));
    const names = [...new Set([...Object.keys(used_of), ...Object.keys(runs_of)])].sort();
    const cluster = (name) => {
      const some = used_of[name] ? fleet.used(used_of[name], gpus) : [];
      const runs = runs_of[name];
      return [fleet.link(urls[name] || "", "#/fleet", name), used_of[name] ? used_of[name].nodes : "–", some.length ? hours(sum(some)) : "–", share(some, "allocated"), share(some, "idle"), share(some, "down"), share(some, "drained"),
        runs ? fleet.between(runs.scheduling, runs.scheduling_range) : "–", runs ? fleet.between(runs.runtime, runs.runtime_range) : "–", percent(runs && runs.program), percent(runs && runs.mpg), some.length ? draw.bar(some, (part) => part.gpu_seconds) : "–"];
    };
    const late = all.clusters.filter((of) => of.as_of_ns === null || all.written_ns - of.as_of_ns > 300e9);
    const none = () => el("p", {class: "soft"}, "No run in this time.");
    const shown = (by, content) => reports[by].rows.length ? [content(reports[by].rows)].flat() : [none()];
    const cards = [...fleet.CARDS];
    cards.splice(1, 0, ["By month", "cluster,month", (rows) => fleet.groups(["Cluster", "Month"], rows)]);
    cards.splice(3, 0, ["Accounts", "account", (rows) => fleet.groups("Account", rows)]);
    main.replaceChildren(
      el("h1", {class: "unseen"}, "Fleet of clusters"),
      card(counted(names.length, "cluster"),
        el("p", {class: "soft"}, `${fleet.date(use.begin_ns)} to ${fleet.date(use.end_ns - 1e9)} UTC, ${counted(use.total.nodes, "node")}, ${hours(sum(parts))} ${unit}`),
        late.length ? el("p", {role: "note"}, late.map((of) => `${of.cluster}: ${of.as_of_ns === null ? "has sent nothing yet" : "complete up to " + time(of.as_of_ns) + " only"}.`).join(" ")) : null,
        el("p", {}, "Of what runs wanted:"),
        el("div", {class: "numbers"}, run.number("scheduling", fleet.between(total.scheduling, total.scheduling_range)), el("em", {}, "×"), run.number("runtime", fleet.between(total.runtime, total.runtime_range)),
          total.program === null ? null : [el("em", {}, "×"), run.number("program", percent(total.program), `of ${percent(total.program_share)} of productive time`)],
          total.mpg === null ? null : [el("em", {}, "="), run.number("ML productivity goodput", percent(total.mpg))])),
      card(gpus ? "All GPUs" : "All nodes", parts.length ? draw.bar(parts, (part) => part.gpu_seconds) : el("p", {class: "soft"}, "Nothing is known of the nodes in this time."), draw.legend(parts.map((part) => part.name)),
        table([{name: "What"}, {name: unit, n: 1}, {name: "Share of what is known", n: 1}], parts.map((part) => [part.name, hours(part.gpu_seconds), part.name === "unknown" ? "–" : share(parts, part.name)]))),
      card("Where the time of runs went", held(total).length ? draw.bar(held(total), (bucket) => bucket.gpu_seconds) : none(), draw.legend(held(total).map((bucket) => bucket.name)),
        table([{name: "Bucket"}, {name: "GPU-h", n: 1}], held(total).map((bucket) => [bucket.name, hours(bucket.gpu_seconds)]))),
      card("Clusters", table([{name: "Cluster"}, {name: "Nodes", n: 1}, {name: unit, n: 1}, {name: "Allocated", n: 1}, {name: "Idle", n: 1}, {name: "Down", n: 1}, {name: "Drained", n: 1}, {name: "Scheduling", n: 1}, {name: "Runtime", n: 1},
        {name: "Program", n: 1}, {name: "MPG", n: 1}, {name: "Where it went"}], names.map(cluster))),
      ...cards.map(([title, by, content]) => card(title, ...shown(by, content))),
      card("Runs", all.runs.rows.length ? fleet.runs(all.runs.rows) : none(), all.runs.more ? el("p", {class: "soft"}, `The latest ${all.runs.rows.length}. See `, el("code", {}, "sgoodput --fleet-db URL -a")) : null));
  },

  // A run leads to its cluster's page.
  runs(rows) {
    const text = (name, value, shown) => ({name, value, text: shown || value});
    const number = (name, value, shown) => ({name, n: 1, value, text: shown});
    return sortable([
      text("Cluster", (row) => row.cluster),
      text("Run", (row) => row.run || row.job, (row) => fleet.link(row.url, ["#", "job", row.cluster, row.job, row.submit_s + "000000000"].map((part, i) => i ? encodeURIComponent(part) : part).join("/"), row.run || row.job)),
      text("User", (row) => row.user),
      text("State", (row) => row.state, (row) => row.final ? row.state : row.state + " (running)"),
      number("Submitted", (row) => row.begin_ns, (row) => time(row.begin_ns)),
      number("GPUs", (row) => row.gpus, (row) => row.gpus),
      number("GPU-h", (row) => row.wanted_gpu_seconds, (row) => hours(row.wanted_gpu_seconds)),
      number("Goodput", (row) => row.sg_rg, (row) => percent(row.sg_rg)),
    ], rows, "Submitted");
  },

  async view(main) {
    const since = el("select", {"aria-label": "since"},
      [["now-1days", "a day"], ["now-7days", "7 days"], ["now-28days", "4 weeks"], ["now-84days", "12 weeks"]].map(([value, text]) => el("option", {value, selected: value === fleet.since ? "" : null}, text)));
    const place = el("div", {});
    const weeks = el("div", {});
    const runs = el("div", {});
    main.replaceChildren(el("h1", {class: "unseen"}, "Fleet"), el("div", {class: "tools"}, since), place, weeks, runs);
    since.addEventListener("change", () => { fleet.since = since.value; page.show(); });
    async function load() {
      const answer = await data.ask("/v1/report", {fleet: 1, by: "partition", starttime: fleet.since});
      if (answer === null) place.replaceChildren(card("", el("p", {}, "Nothing is recorded for the cluster yet.")));
      else fleet.paint(place, answer);
    }
    await load();
    await fleet.more(runs);
    const count = {"now-28days": 4, "now-84days": 12}[fleet.since];
    if (count) await fleet.weeks(weeks, count);
    return {again: load, keys: {}};
  },
};
