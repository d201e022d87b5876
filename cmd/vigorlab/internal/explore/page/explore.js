// The page: controls to a query, its answer to figures and a drawing. All numbers come
// from the theory (worker.js).
"use strict";

const $ = (id) => document.getElementById(id);
const sliders = ["m0", "rounds", "alpha", "gamma"];
const shapeOf = /(\bshape\s*=\s*)([0-9.eE+-]*[0-9.])/; // in a spec

// Controls

// query returns what is chosen.
function query() {
	return {
		population: $("population").value.trim(),
		m0: Number($("m0").value), rounds: Number($("rounds").value), alpha: $("alpha").value, gamma: $("gamma").value,
	};
}

// settle makes the controls agree with one another.
function settle() {
	const spec = $("population").value;
	const shape = spec.match(shapeOf);
	$("shape").disabled = !shape;
	$("shape-value").value = shape ? shape[2] : "none";
	if (shape && Number($("shape").value) !== Number(shape[2])) $("shape").value = shape[2];
	const alike = (s) => s.replace(shapeOf, "$1");
	const preset = [...$("preset").options].find((o) => o.value && alike(o.value) === alike(spec.trim()));
	$("preset").value = preset ? preset.value : "";
	for (const id of sliders) $(id + "-value").value = $(id).value;
}

$("controls").addEventListener("submit", (event) => event.preventDefault());

$("controls").addEventListener("input", (event) => {
	const at = performance.now();
	if (event.target.id === "preset") $("population").value = event.target.value;
	if (event.target.id === "shape") {
		$("population").value = $("population").value.replace(shapeOf, "$1" + event.target.value);
	}
	changed(at);
});

function changed(at) {
	settle();
	ask(query(), at);
	keep();
}

// A view that can be shared: its query is the fragment of the address.

let keeping;

// keep writes the fragment once the reader pauses: browsers refuse many in a row.
function keep() {
	clearTimeout(keeping);
	keeping = setTimeout(() => history.replaceState(null, "", "#" + new URLSearchParams(query())), 250);
}

// restore reads the fragment; sliders take what they can show.
function restore() {
	const given = new URLSearchParams(location.hash.slice(1));
	for (const id of ["population", ...sliders]) {
		if (given.has(id)) $(id).value = given.get(id);
	}
}

addEventListener("hashchange", () => { restore(); changed(performance.now()); });

// The theory

const slow = 500; // ms after which a computation that nobody waits for is given up

let program; // compiled once
let worker;
let asked; // what is being computed: { query, at, since }
let waiting; // what comes next
let patience; // the timer that says so where it takes long

async function load() {
	try {
		const response = await fetch("explore.wasm");
		if (!response.ok) throw new Error(response.statusText);
		program = await WebAssembly.compile(await response.arrayBuffer());
	} catch (error) {
		showFaults(["explore.wasm cannot be loaded (" + error.message + "): this page needs a web server, such as vigorlab explore"]);
		return;
	}
	hire();
	next();
}

// hire starts a worker.
function hire() {
	worker = new Worker("worker.js");
	worker.onmessage = (message) => {
		const { query, at } = asked;
		asked = undefined;
		if (!waiting) show(message.data, query, at);
		next();
	};
	worker.onerror = () => showFaults(["worker.js cannot be run: load the page again"]);
	worker.postMessage(program);
}

function ask(query, at) {
	waiting = { query, at };
	if (asked && performance.now() - asked.since > slow) {
		worker.terminate();
		asked = undefined;
		hire();
	}
	next();
}

function next() {
	if (!worker || asked || !waiting) return;
	asked = { ...waiting, since: performance.now() };
	waiting = undefined;
	$("results").setAttribute("aria-busy", "true");
	clearTimeout(patience);
	patience = setTimeout(() => { $("busy").textContent = "computing ..."; }, slow);
	worker.postMessage(asked.query);
}

// Figures

let curves; // that are drawn

function show(answer, query, at) {
	const figures = answer.figures || {};
	showFaults(answer.faults || []);
	for (const cell of document.querySelectorAll("[data-key]")) {
		const figure = figures[cell.dataset.key];
		cell.textContent = figure ? figure.text : "-";
		if (figure && !figure.reason) cell.dataset.value = figure.value;
		else delete cell.dataset.value;
	}
	showReasons(figures);
	$("command").textContent = answer.command || "";
	$("at-a-shell").hidden = !answer.command;
	$("copied").textContent = "";
	curves = answer.curves;
	$("reading").textContent = curves ? reading(curves) : answer.noCurves || "";
	draw();
	$("results").dataset.ms = performance.now() - at;
	$("results").dataset.shown = JSON.stringify(query);
	$("results").setAttribute("aria-busy", "false");
	clearTimeout(patience);
	$("busy").textContent = "";
}

// showFaults shows every fault beside what it is about.
function showFaults(faults) {
	const schedule = (text) => text.startsWith("--strategy");
	const paragraphs = (texts) => texts.map((text) => element("p", text));
	$("schedule-faults").replaceChildren(...paragraphs(faults.filter(schedule)));
	$("population-faults").replaceChildren(...paragraphs(faults.filter((text) => !schedule(text))));
	$("population").setAttribute("aria-invalid", String(faults.some((text) => text.startsWith("--population"))));
}

// showReasons says why figures do not exist, those of one reason together.
function showReasons(figures) {
	const rows = new Map();
	for (const cell of document.querySelectorAll("[data-key]:first-of-type")) {
		const figure = figures[cell.dataset.key];
		if (!figure || !figure.reason) continue;
		const names = rows.get(figure.reason) || [];
		rows.set(figure.reason, [...names, cell.parentElement.cells[0].textContent]);
	}
	$("reasons").replaceChildren(...[...rows].map(([reason, names]) => element("li", "- " + names.join("; ") + ": " + reason)));
}

function element(name, text) {
	const e = document.createElement(name);
	e.textContent = text;
	return e;
}

function reading(c) {
	const percent = (x) => (100 * x).toFixed(x < 0.1 ? 1 : 0) + " %";
	return `The prompts with 1/4 \u2264 p \u2264 3/4 are ${percent(c.prompts)} of all and get ${percent(c.rollouts)} of the rollouts.`;
}

// Drawing

const margin = { left: 46, right: 12, top: 10, bottom: 42 };
const few = 24; // points up to which a law is atoms, drawn as dots

function draw() {
	const svg = $("drawing");
	svg.toggleAttribute("hidden", !curves);
	$("legend").hidden = !curves;
	if (!curves) return;
	const width = svg.clientWidth, height = svg.clientHeight;
	svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
	svg.replaceChildren();
	const top = Math.max(curves.fixed, ...rollouts(curves.sampled), ...rollouts(curves.perfect));
	const ticks = ticksTo(top);
	const x = (p) => margin.left + p * (width - margin.left - margin.right);
	const y = (n) => height - margin.bottom - (n / ticks[ticks.length - 1]) * (height - margin.bottom - margin.top);
	for (const n of ticks) {
		svg.append(shape("line", { class: n ? "grid" : "axis", x1: x(0), x2: x(1), y1: y(n), y2: y(n) }));
		svg.append(label(n, { x: x(0) - 6, y: y(n) + 4, "text-anchor": "end" }));
	}
	for (const p of [0, 0.25, 0.5, 0.75, 1]) {
		svg.append(shape("line", { class: "axis", x1: x(p), x2: x(p), y1: y(0), y2: y(0) + 4 }));
		svg.append(label(p, { x: x(p), y: y(0) + 18, "text-anchor": p === 1 ? "end" : "middle" }));
	}
	svg.append(label("success probability p", { x: x(0.5), y: height - 6, "text-anchor": "middle" }));
	svg.append(label("mean rollouts of a prompt", { x: -(y(0) + margin.top) / 2, y: 13, "text-anchor": "middle", transform: "rotate(-90)" }));
	svg.append(shape("line", { class: "fixed", x1: x(0), x2: x(1), y1: y(curves.fixed), y2: y(curves.fixed) }));
	for (const name of ["perfect", "sampled"]) svg.append(...curve(name, curves[name], x, y));
}

// curve returns p, rollouts, p, rollouts, ... as a line, or as dots where they are few.
function curve(name, flat, x, y) {
	const points = [];
	for (let i = 0; i < flat.length; i += 2) points.push([x(flat[i]), y(flat[i + 1])]);
	if (points.length > few) return [shape("polyline", { class: name, points: points.map((p) => p.map((v) => v.toFixed(1))).join(" ") })];
	return points.map(([cx, cy]) => shape("circle", { class: name, cx, cy, r: name === "perfect" ? 6 : 4 }));
}

const rollouts = (flat) => flat.filter((_, i) => i % 2);

// ticksTo returns about five round numbers from 0 to at least top.
function ticksTo(top) {
	const rough = Math.max(top, 1e-9) / 5;
	const unit = 10 ** Math.floor(Math.log10(rough));
	const step = [1, 2, 5, 10].map((k) => k * unit).find((s) => s >= rough * 0.999);
	const n = Math.ceil(top / step - 1e-9);
	return Array.from({ length: n + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}

function shape(name, attributes) {
	const s = document.createElementNS("http://www.w3.org/2000/svg", name);
	for (const [key, value] of Object.entries(attributes)) s.setAttribute(key, value);
	return s;
}

function label(text, attributes) {
	const s = shape("text", attributes);
	s.textContent = text;
	return s;
}

new ResizeObserver(draw).observe($("drawing"));

// The command

$("copy").hidden = !navigator.clipboard;
$("copy").addEventListener("click", async () => {
	try {
		await navigator.clipboard.writeText($("command").textContent);
		$("copied").textContent = "copied";
	} catch {
		getSelection().selectAllChildren($("command"));
		$("copied").textContent = "selected: press Ctrl-C";
	}
});

restore();
settle();
ask(query(), performance.now());
load();
