// A stand-in for Cloud Monitoring and for the metadata server, on the loopback interface: node monitoring_server.js NODE_MODULES
//
// Prints its port. It checks each request with the service's own protos (protos.json of @google-cloud/monitoring) and names what they do
// not know, and it has the limits that the service documents. GET /state tells what it has and what it was asked; POST /control changes
// how it behaves.
"use strict";
const http = require("http");
const {protos, Refusal, bad, nanoseconds, checkMessage, credentials} = require("./stand_in.js");
const root = protos("@google-cloud/monitoring/build/protos/protos.json");

const MOST_SERIES = 200, APART_NS = 5n * 10n ** 9n, AHEAD_NS = 300n * 10n ** 9n, DAY_NS = 86400n * 10n ** 9n;
const WORKLOAD = "compute.googleapis.com/workload/";
// Name -> type, and the labels besides cluster_name.
const METRICS = {
  goodput_time: ["DOUBLE", "goodput_source", "accelerator_type"],
  badput_time: ["DOUBLE", "badput_source", "accelerator_type"],
  total_elapsed_time: ["DOUBLE", "accelerator_type", "window_type"],
  disruptions: ["INT64", "accelerator_type", "window_type"],
  max_productive_steps: ["INT64", "accelerator_type"],
  step_time_deviation: ["DOUBLE", "accelerator_type"],
  performance: ["DOUBLE"],
  interval_goodput: ["DOUBLE", "goodput_source", "accelerator_type", "rolling_window_size"],
  interval_badput: ["DOUBLE", "badput_source", "accelerator_type", "rolling_window_size"],
  stepping_slice_efficiency: ["DOUBLE", "accelerator_type", "window_type", "rolling_window_size"],
  available_slice_efficiency: ["DOUBLE", "accelerator_type", "window_type", "rolling_window_size"],
};

const config = {
  faults: [],             // for the next calls: {code} or {cut: "before" | "after"}
  tokenValidS: 3600, tokenLivesMs: 3600000, scopes: ["https://www.googleapis.com/auth/cloud-platform"], hasAccount: true,
  publicKey: null, email: null, keyId: null,
  "instance/zone": "projects/123/zones/us-east5-a", "project/project-id": "lab-1",
  role: true,
  refusedMetric: null,    // points of this metric are refused, each by itself
};
const state = {problems: [], calls: {timeSeries: 0, token: 0}, sizes: [], refused: 0, tokenExpired: 0, points: []};
const last = new Map();  // by series, the time of its last point

const same = (a, b) => JSON.stringify([...a].sort()) === JSON.stringify([...b].sort());

function checkSeries(series) {
  const {metric, resource, metricKind, valueType, points, ...more} = series;
  if (Object.keys(more).length) throw bad(`not expected: ${Object.keys(more)}`);
  const [type, ...labels] = METRICS[metric?.type?.replace(WORKLOAD, "")] || [];
  if (!type || !metric.type.startsWith(WORKLOAD)) throw bad(`metric ${metric?.type}`);
  const has = Object.keys(metric.labels || {});
  if (!same(has, labels) && !same(has, [...labels, "cluster_name"])) throw bad(`${metric.type}: labels ${has}`);
  if (resource?.type !== "compute.googleapis.com/Workload") throw bad(`resource ${resource?.type}`);
  if (!same(Object.keys(resource.labels), ["location", "workload_id", "replica_id"])) throw bad("labels of the resource");
  if (Object.values({...metric.labels, ...resource.labels}).some((one) => one === "" || one.length > 1024)) throw bad("a label");
  if (metricKind !== "GAUGE" || valueType !== type) throw bad(`${metric.type}: ${metricKind} ${valueType}`);
  if (points?.length !== 1) throw bad(`${metric.type}: ${points?.length} points`);
  const [{interval, value}] = points;
  if (Object.keys(value).join() !== (type === "INT64" ? "int64Value" : "doubleValue")) throw bad(`${metric.type}: value`);
  if (Object.keys(interval).join() !== "endTime") throw bad(`${metric.type}: a gauge has only endTime`);
}

// Why the point of a series that is well-formed is not taken; undefined: it is.
function whyNot(series, key, now) {
  const at = nanoseconds(series.points[0].interval.endTime);
  if (config.refusedMetric && series.metric.type === WORKLOAD + config.refusedMetric) return "a metric that is not liked";
  if (at > now + AHEAD_NS || at < now - DAY_NS) return "the end time is too far from now";
  if (last.has(key) && at <= last.get(key)) return "points must be written in order";
  if (last.has(key) && at < last.get(key) + APART_NS) return "points were written more frequently than the maximum sampling period";
}

function create(project, json) {
  if (!json.timeSeries?.length) throw bad("no timeSeries");
  if (json.timeSeries.length > MOST_SERIES) throw bad(`${json.timeSeries.length} time series`);
  const keys = json.timeSeries.map((series) => {
    checkSeries(series);
    return JSON.stringify([project, series.metric.type, Object.entries(series.metric.labels).sort(), Object.entries(series.resource.labels).sort()]);
  });
  if (new Set(keys).size !== keys.length) throw bad("a series is there twice");
  state.sizes.push(keys.length);
  const now = BigInt(Date.now()) * 1000000n;
  const reasons = new Map();
  json.timeSeries.forEach((series, index) => {
    const why = whyNot(series, keys[index], now);
    if (why) return void reasons.set(why, (reasons.get(why) || 0) + 1);
    last.set(keys[index], nanoseconds(series.points[0].interval.endTime));
    state.points.push({project, ...series});
  });
  if (!reasons.size) return {};
  const errors = [...reasons].map(([message, pointCount]) => ({status: {code: 3, message}, pointCount}));
  const refused = errors.reduce((sum, one) => sum + one.pointCount, 0);
  state.refused += refused;
  const summary = {"@type": "type.googleapis.com/google.monitoring.v3.CreateTimeSeriesSummary", totalPointCount: keys.length, errors};
  if (refused < keys.length) summary.successPointCount = keys.length - refused;
  throw new Refusal(400, "INVALID_ARGUMENT", "One or more TimeSeries could not be written", [summary]);
}

const {checkCaller, metadata} = credentials(config, state, "https://monitoring.googleapis.com/", () =>
  ({scope: "monitoring.write", permission: "monitoring.timeSeries.create", allowed: config.role}));

function answerCall(request, body, response) {
  const send = (code, json) => response.writeHead(code, {"Content-Type": "application/json; charset=UTF-8"}).end(JSON.stringify(json, null, 2));
  let after = false;
  try {
    const [, project] = request.url.match(/^\/v3\/projects\/([a-z0-9.:-]+)\/timeSeries$/) || [];
    if (!project || request.method !== "POST") throw new Refusal(404, "NOT_FOUND", `no ${request.method} ${request.url}`);
    state.calls.timeSeries += 1;
    const fault = config.faults.shift() || {};
    if (fault.cut === "before") return void request.socket.destroy();
    after = fault.cut === "after";
    if (fault.code) throw new Refusal(fault.code, fault.code === 429 ? "RESOURCE_EXHAUSTED" : "INTERNAL", "try again");
    if (!/^application\/json/.test(request.headers["content-type"] || "")) throw bad("Content-Type");
    const json = JSON.parse(body.toString());
    checkMessage(root.lookupType("google.monitoring.v3.CreateTimeSeriesRequest"), json, "CreateTimeSeriesRequest");
    checkCaller(request, "timeSeries");
    const answer = create(project, json);
    if (after) return void request.socket.destroy();
    send(200, answer);
  } catch (error) {
    if (after) return void request.socket.destroy();
    if (!(error instanceof Refusal)) console.error(error);
    const {code = 400, status = "INVALID_ARGUMENT", message, details = []} = error;
    if ((code === 400 && !details.length) || code === 404) state.problems.push(message);
    send(code, {error: {code, message, status, details}});
  }
}

const server = http.createServer((request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece)).on("end", () => {
    const body = Buffer.concat(pieces);
    if (request.url === "/state") return response.end(JSON.stringify(state));
    if (request.url === "/control") {
      const {forget, ...changes} = JSON.parse(body.toString());
      if (forget) last.clear(), state.points = [], state.sizes = [];
      Object.assign(config, changes);
      return response.end("{}");
    }
    if (request.url.startsWith("/computeMetadata/")) return metadata(request, response);
    answerCall(request, body, response);
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit(0)).resume();  // it ends with the test
