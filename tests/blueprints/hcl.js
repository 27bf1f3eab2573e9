// Reads the .tf files of a folder and prints them as one JSON object by file: node hcl.js MODULES FOLDER
// Exit status 1, with one line a fault: what HCL's own parser refuses, or its formatter would write otherwise.
"use strict";
const fs = require("fs");
const path = require("path");
const [modules, folder] = process.argv.slice(2);
const {parse} = require(path.join(modules, "@cdktf", "hcl2json"));
const {format} = require(path.join(modules, "@cdktf", "hcl-tools"));

(async () => {
  const read = {};
  let faults = 0;
  for (const name of fs.readdirSync(folder).filter((entry) => entry.endsWith(".tf")).sort()) {
    const text = fs.readFileSync(path.join(folder, name), "utf8");
    try {
      read[name] = await parse(name, text);
      if ((await format(text)) !== text) {
        faults += 1;
        console.error(`${name}: not as terraform fmt writes it`);
      }
    } catch (error) {
      faults += 1;
      console.error(String(error.message || error).split("\n")[0]);
    }
  }
  if (!faults) console.log(JSON.stringify(read));
  process.exit(faults ? 1 : 0);
})();
