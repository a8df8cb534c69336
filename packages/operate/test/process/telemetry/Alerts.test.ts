import { Telemetry } from "@effect-mcp/operate"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { execFile, spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const file = (name: string): string => fileURLToPath(new URL(`../../../grafana/${name}`, import.meta.url))
const hasPromtool = spawnSync("promtool", ["--version"]).status === 0
const run = promisify(execFile)

describe("Alerts in promtool", needs(hasPromtool, "no promtool in PATH (Debian: apt install prometheus)"), () => {
  it("Each alert fires for its symptom and not for a healthy server", async () => {
    const { stdout } = await run("promtool", ["test", "rules", file("alerts.test.yml")])
    assert.include(stdout, "SUCCESS")
  })
})

describe("Alerts", () => {
  const text = readFileSync(file("alerts.yml"), "utf8")

  it("The rules use only existing metrics", () => {
    const names = Telemetry.metrics.flatMap(({ name, type }) => {
      const shown = Telemetry.prometheusName(name).replaceAll(".", "_")
      return type === "histogram" ? [`${shown}_bucket`, `${shown}_count`] : [shown]
    })
    const asked = [...text.matchAll(/\bmcp_server_\w+/g)].map(([name]) => name)
    assert.isAbove(asked.length, 10)
    assert.deepStrictEqual(
      asked.filter((name) => !names.includes(name)),
      []
    )
  })

  it("Each rule is tested", () => {
    const tests = readFileSync(file("alerts.test.yml"), "utf8")
    const rules = [...text.matchAll(/alert: (\w+)/g)].map(([, name = ""]) => name)
    assert.isAbove(rules.length, 10)
    assert.deepStrictEqual(
      rules.filter((name) => !tests.includes(name)),
      []
    )
  })
})
