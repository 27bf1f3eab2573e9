"use strict";
// All GPUs of the cluster times the time asked for: what jobs had, and what was idle, down or drained.

const fleet = {
  since: "now-7days",

  async view(main) {
    main.replaceChildren(card("Fleet", el("p", {class: "soft"}, "loading")));
    return {keys: {}};
  },
};
