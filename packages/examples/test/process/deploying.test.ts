/**
 * The configuration on the pages about deploying is readable, and its ports, paths and times match the program it runs. `proxies.test.ts`
 * and `container.test.ts` run it.
 */
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parse, parseAllDocuments } from "yaml"
import worker from "../../src/deploy/worker.ts"

const sources = join(import.meta.dirname, "../../src")
const read = (name: string): string => readFileSync(join(sources, "nodes", name), "utf8")
const pages = ["deploying", "deploying-proxy", "deploying-services"]
  .map((name) => readFileSync(join(import.meta.dirname, `../../../docs/pages/${name}.md`), "utf8"))
  .join("\n")

const names = [
  "deploy/Dockerfile",
  "deploy/worker.ts",
  "deploy/wrangler.jsonc",
  "nodes/Caddyfile",
  "nodes/envoy.yaml",
  "nodes/kubernetes.yaml",
  "nodes/library-http.ts",
  "nodes/library@.service",
  "nodes/nginx.conf"
]
const hasNginx = spawnSync("nginx", ["-v"]).status === 0
const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0

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

describe("Configuration on the deployment pages", () => {
  it.each(names)("The pages show the file %s", (name) => {
    const block = new RegExp(`^\`\`\`\\w+ ${name.replaceAll(".", "\\.")}(?: [^\\n]*)?\\n([^]*?)^\`\`\``, "gm")
    assert.deepStrictEqual(found(pages, block), [readFileSync(join(sources, name), "utf8")])
  })

  describe("with nginx", needs(hasNginx, "nginx is not installed"), () => {
    it("nginx accepts the configuration", () => {
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

  it("Proxies route the endpoint's path to the same nodes", () => {
    const [nginx, envoy, caddy] = [read("nginx.conf"), read("envoy.yaml"), read("Caddyfile")]
    parse(envoy)
    assert.deepStrictEqual(found(caddy, /127\.0\.0\.1:(\d+)/g), ports)
    assert.deepStrictEqual(found(caddy, /reverse_proxy (\S+)/g), found(program, /path: "(.*)"/g))
    assert.deepStrictEqual(found(caddy, /^(\S+) \{$/gm), found(program, /allowedHosts: \["(.*)"\]/g))
    assert.isBelow(one(caddy, /health_interval (\d+)s/g), lameDuck)
    assert.isBelow(one(caddy, /keepalive (\d+)s/g), 5)
    assert.deepStrictEqual(found(nginx, /server 127\.0\.0\.1:(\d+)/g), ports)
    assert.deepStrictEqual(found(envoy, /port_value: (\d+)/g), ["8080", ...ports])
    assert.deepStrictEqual(found(nginx, /listen 127\.0\.0\.1:(\d+)/g), ["8080"])
    const path = found(program, /path: "(.*)"/g)
    assert.deepStrictEqual(found(nginx, /location (\S+)/g), path)
    assert.deepStrictEqual(found(envoy, /prefix: (\S+) /g), path)
    // Envoy removes a node while it still serves.
    const checks = one(envoy, / interval: (\d+)s/g) * one(envoy, /unhealthy_threshold: (\d+)/g)
    assert.isBelow(checks + one(envoy, / timeout: (1)s/g), lameDuck)
    // The default `keepAliveTimeout` of `node:http`.
    assert.isBelow(one(envoy, /idle_timeout: (\d)s/g), 5)
  })

  it("Kubernetes probes the program's port and waits until it has stopped", () => {
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

  describe("with systemd", needs(hasSystemd, "systemd-analyze is not installed"), () => {
    it("systemd accepts the unit", () => {
      const directory = mkdtempSync(join(tmpdir(), "mcp-systemd-"))
      try {
        // It also checks that the program exists.
        const unit = read("library@.service").replace("/usr/bin/node", process.execPath)
        writeFileSync(join(directory, "library@.service"), unit)
        const file = join(directory, "library@3001.service")
        const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", file], { encoding: "utf8" })
        // Keys that it does not know are only warnings.
        assert.deepStrictEqual({ status, stderr }, { status: 0, stderr: "" })
      } finally {
        rmSync(directory, { recursive: true, force: true })
      }
    })
  })

  it("Cloudflare's configuration names the worker, which serves its host", async () => {
    const { compatibility_flags: flags, main } = parse(readFileSync(join(sources, "deploy/wrangler.jsonc"), "utf8"))
    assert.deepStrictEqual([main, flags], ["worker.ts", ["nodejs_compat"]])
    const initialize = {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "docs", version: "1.0.0" } }
    }
    const { status } = await worker.fetch(
      new Request("https://hello.example.workers.dev/mcp", {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
        body: JSON.stringify(initialize)
      })
    )
    assert.strictEqual(status, 200)
  })

  it("systemd waits until the program has stopped", () => {
    const unit = read("library@.service")
    assert.isAbove(one(unit, /^TimeoutStopSec=(\d+)$/gm), lameDuck + drain + 2)
    assert.match(unit, /^Environment=PORT=%i$/m)
    assert.match(unit, /^KillSignal=SIGTERM$/m)
  })
})
