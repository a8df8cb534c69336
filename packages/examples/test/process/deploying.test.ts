/** The configuration on the page about deploying: it can be read, and its ports, paths and times fit the program that it runs. */
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parse, parseAllDocuments } from "yaml"

const folder = join(import.meta.dirname, "../../src/nodes")
const read = (name: string): string => readFileSync(join(folder, name), "utf8")
const page = readFileSync(join(import.meta.dirname, "../../../docs/pages/deploying.md"), "utf8")

const names = ["nginx.conf", "envoy.yaml", "kubernetes.yaml", "library@.service", "library-http.ts"]
const hasNginx = spawnSync("nginx", ["-v"]).status === 0

const found = (text: string, pattern: RegExp): ReadonlyArray<string> =>
  [...text.matchAll(pattern)].map(([, value = ""]) => value)
const one = (text: string, pattern: RegExp): number => {
  const values = found(text, pattern)
  assert.lengthOf(values, 1, String(pattern))
  return Number(values[0])
}

const program = read("library-http.ts")
const [lameDuck, drain] = [one(program, /lameDuck: "(\d+) seconds"/g), one(program, /drain: "(\d+) seconds"/g)]
const ports = ["3001", "3002", "3003"]

describe("the configuration of the page about deploying", () => {
  it.each(names)("The page shows the file %s", (name) => {
    const [shown] = found(page, new RegExp(`^\`\`\`\\w+ nodes/${name.replaceAll(".", "\\.")}\\n([^]*?)^\`\`\``, "gm"))
    assert.strictEqual(shown, read(name))
  })

  describe("with nginx", needs(hasNginx, "nginx is not installed"), () => {
    it("nginx accepts its configuration", () => {
      const directory = mkdtempSync(join(tmpdir(), "mcp-nginx-t-"))
      try {
        const main = `pid ${directory}/pid; events {} http { access_log off; ${read("nginx.conf")} }`
        writeFileSync(join(directory, "nginx.conf"), main)
        const options = ["-t", "-p", directory, "-e", join(directory, "error.log"), "-c", join(directory, "nginx.conf")]
        const { status, stderr } = spawnSync("nginx", options, { encoding: "utf8" })
        assert.strictEqual(status, 0, stderr)
      } finally {
        rmSync(directory, { recursive: true, force: true })
      }
    })
  })

  it("nginx and Envoy listen at the same port and send the path of the endpoint to the same nodes", () => {
    const [nginx, envoy] = [read("nginx.conf"), read("envoy.yaml")]
    parse(envoy)
    assert.deepStrictEqual(found(nginx, /server 127\.0\.0\.1:(\d+)/g), ports)
    assert.deepStrictEqual(found(envoy, /port_value: (\d+)/g), ["8080", ...ports])
    assert.deepStrictEqual(found(nginx, /listen 127\.0\.0\.1:(\d+)/g), ["8080"])
    const path = found(program, /path: "(.*)"/g)
    assert.deepStrictEqual(found(nginx, /location (\S+)/g), path)
    assert.deepStrictEqual(found(envoy, /prefix: (\S+) /g), path)
    // Envoy takes a node out of service while that still serves.
    const checks = one(envoy, / interval: (\d+)s/g) * one(envoy, /unhealthy_threshold: (\d+)/g)
    assert.isBelow(checks + one(envoy, / timeout: (1)s/g), lameDuck)
    // The default `keepAliveTimeout` of `node:http`.
    assert.isBelow(one(envoy, /idle_timeout: (\d)s/g), 5)
  })

  it("Kubernetes probes the port of the program and waits until it has stopped", () => {
    const text = read("kubernetes.yaml")
    const kinds = parseAllDocuments(text).map((document) => {
      assert.deepStrictEqual(document.errors, [])
      return document.get("kind")
    })
    assert.deepStrictEqual(kinds, ["Deployment", "Service", "PodDisruptionBudget"])
    assert.deepStrictEqual([...new Set(found(text, /(?:[pP]ort: |value: ")(3\d+)/g))], ["3001"])
    assert.include(program, "?? 3001")
    assert.isAbove(one(text, /terminationGracePeriodSeconds: (\d+)/g), lameDuck + drain + 2)
    const [period = 0] = found(text, /periodSeconds: (\d+)/g).map(Number)
    assert.isBelow(period * one(text, /failureThreshold: (\d+)/g), lameDuck)
  })

  it("systemd waits until the program has stopped", () => {
    const unit = read("library@.service")
    assert.isAbove(one(unit, /^TimeoutStopSec=(\d+)$/gm), lameDuck + drain + 2)
    assert.match(unit, /^Environment=PORT=%i$/m)
    assert.match(unit, /^KillSignal=SIGTERM$/m)
  })
})
