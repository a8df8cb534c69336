import * as V from "../packages/protocol/src/JsonSchemaValidator.ts"
import * as fs from "node:fs"
for (const [d, dialect] of [
  ["draft2020-12", "https://json-schema.org/draft/2020-12/schema"],
  ["draft7", "http://json-schema.org/draft-07/schema#"]
]) {
  let pass = 0,
    fail = {},
    unsup = {}
  for (const f of fs.readdirSync(`/tmp/h/js/tests/${d}`).filter((f) => f.endsWith(".json"))) {
    for (const g of JSON.parse(fs.readFileSync(`/tmp/h/js/tests/${d}/${f}`, "utf8"))) {
      const schema = typeof g.schema === "object" && !g.schema.$schema ? { ...g.schema, $schema: dialect } : g.schema
      const v = V.compile(schema)
      if (v._tag === "Failure") {
        ;(unsup[f] ??= []).push(g.description + ": " + v.failure.message)
        continue
      }
      for (const t of g.tests) {
        const e = v.success(t.data)
        const r = e.length === 0
        if (r === t.valid) pass++
        else (fail[f] ??= []).push(`${g.description} / ${t.description}: ${r} ${JSON.stringify(e)}`)
      }
    }
  }
  console.log(d, "pass", pass)
  for (const [f, l] of Object.entries(fail)) {
    console.log("FAIL", f, l.length)
    for (const x of l.slice(0, 6)) console.log("   ", x)
  }
  for (const [f, l] of Object.entries(unsup)) {
    console.log("UNSUPPORTED", f, l.length)
    if (f !== "refRemote.json") for (const x of l) console.log("   ", x)
  }
}
