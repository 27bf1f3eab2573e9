// One rank of a synchronous training, whose steps the real SDK of OpenTelemetry tells: node ranks.js NODE_MODULES FOLDER,
// with $LOCAL_RANK of 2 on each node of the job. The last rank needs longer for its input. All ranks meet in each step,
// through files in the folder. Each writes when it began its steps.
"use strict";
const fs = require("fs");
const path = require("path");
const [modules, folder] = process.argv.slice(2);
const load = (name) => require(path.join(modules, "@opentelemetry", name));
const {BasicTracerProvider, BatchSpanProcessor} = load("sdk-trace-base");
const {resourceFromAttributes} = load("resources");
const {OTLPTraceExporter} = load("exporter-trace-otlp-proto");
const {ROOT_CONTEXT} = load("api");

const STEPS = 24;
const LOCAL = 2;
const rank = Number(process.env.SLURM_PROCID) * LOCAL + Number(process.env.LOCAL_RANK);
const ranks = Number(process.env.SLURM_NTASKS) * LOCAL;
const provider = new BasicTracerProvider({
  resource: resourceFromAttributes({"dl.rank": rank, "dl.world_size": ranks, "slurm.job.id": process.env.SLURM_JOB_ID,
                                    "process.pid": process.pid}),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function meet(name) {
  fs.writeFileSync(path.join(folder, `${name}-${rank}`), "");
  for (let other = 0; other < ranks; ++other)
    while (!fs.existsSync(path.join(folder, `${name}-${other}`))) await sleep(1);
}

(async () => {
  fs.writeFileSync(path.join(folder, `node-${rank}`), process.env.SLURMD_NODENAME);
  await meet("ready");
  for (let step = 1; step <= STEPS; ++step) {
    await sleep(rank === ranks - 1 ? 350 : 50);
    const begin = Date.now();
    fs.appendFileSync(path.join(folder, `log-${rank}`), `${step} ${begin}\n`);
    const span = provider.getTracer("ranks").startSpan("megatron.train.iteration",
        {startTime: new Date(begin), attributes: {"megatron.iteration": step - 1}}, ROOT_CONTEXT);
    await meet(`step${step}`);
    await sleep(100);
    span.setAttribute("megatron.skipped", false);
    span.end(new Date());
  }
  await provider.shutdown();
})();
