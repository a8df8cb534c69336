/** The program behind `npm run requirements`: the report, or with `--prove` the faults. */
await import(process.argv.includes("--prove") ? "./prove.ts" : "./report.ts")
