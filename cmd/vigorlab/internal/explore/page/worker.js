// The theory, apart from the page, which stays quick while it computes. The first
// message is the compiled program, every other one a query.
"use strict";
importScripts("wasm_exec.js");

let started;

async function start(program) {
	const go = new Go();
	go.run(await WebAssembly.instantiate(program, go.importObject));
}

onmessage = async (message) => {
	if (!started) {
		started = start(message.data);
		return;
	}
	try {
		await started;
		postMessage(vigorlab(message.data));
	} catch (error) {
		postMessage({ faults: ["the theory has stopped: " + error + ". Load the page again."] });
	}
};
