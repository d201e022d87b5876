// Writes TRL's completions as three writers of Parquet that are not ours write them: DuckDB (zstd, dictionary pages, many
// row groups; and uncompressed, version 2) and Rust's arrow (snappy, dictionary pages, version 1). Run by hand in ../testdata/real:
//
//   npm install --no-save @duckdb/node-api@1.5.6-r.1 parquet-wasm@0.8.0 apache-arrow@21.2.0 && node ../../foreign/make.mjs
import {writeFileSync} from "node:fs";
import {DuckDBInstance} from "@duckdb/node-api";
import {tableFromJSON, tableToIPC} from "apache-arrow";
import {Compression, Table, WriterPropertiesBuilder, writeParquet} from "parquet-wasm/node";

// rows returns 6 completions of each of 500 prompts, shuffled as ranks leave them: completion k of prompt i is right where
// 7*i + 3*k is 0 or 1 modulo 5.
function rows() {
    const all = [];
    for (let k = 0; k < 6; k++) {
        for (let i = 0; i < 500; i++)
            all.push({step: 5, prompt: `What is ${i}+1?`, completion: `It is ${i + 1}, I ${["think", "say"][k % 2]}.`, accuracy_reward: (7 * i + 3 * k) % 5 < 2 ? 1 : 0, advantage: 0.5});
    }
    return all;
}

const connection = await (await DuckDBInstance.create(":memory:")).connect();
await connection.run("CREATE TABLE t (step BIGINT, prompt VARCHAR, completion VARCHAR, accuracy_reward DOUBLE, advantage DOUBLE)");
const values = rows().map((r) => `(${r.step}, '${r.prompt}', '${r.completion}', ${r.accuracy_reward}, ${r.advantage})`);
await connection.run(`INSERT INTO t VALUES ${values.join(", ")}`);
await connection.run("COPY t TO 'duckdb_zstd/completions_00005.parquet' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 2048)");
await connection.run("COPY t TO 'duckdb_v2/completions_00005.parquet' (FORMAT parquet, COMPRESSION uncompressed, PARQUET_VERSION v2)");

const table = Table.fromIPCStream(tableToIPC(tableFromJSON(rows()), "stream"));
const properties = new WriterPropertiesBuilder().setCompression(Compression.SNAPPY).setMaxRowGroupSize(1000).build();
writeFileSync("arrow_snappy/completions_00005.parquet", writeParquet(table, properties));
