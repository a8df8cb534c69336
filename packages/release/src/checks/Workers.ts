/** Runs a bundled server on Cloudflare's runtime, and calls it over HTTP. */
import { writeFileSync } from "node:fs"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { run } from "../Command.ts"
import * as Project from "../Project.ts"
import { binOf, install, versionOf } from "../Toolbox.ts"

/** A program that serves the worker at `PORT`. Separate, so that the runtime ends with it. */
const start = (miniflare: string, worker: string): string => `
import { readFileSync } from "node:fs"
import { Miniflare } from ${JSON.stringify(miniflare)}
const worker = new Miniflare({
  modules: [{ type: "ESModule", path: "worker.mjs", contents: readFileSync(${JSON.stringify(worker)}, "utf8") }],
  compatibilityDate: "2026-07-01",
  compatibilityFlags: ["nodejs_compat"],
  host: "127.0.0.1",
  port: Number(process.env.PORT),
  cf: false,
  telemetry: { enabled: false }
})
await worker.ready
process.once("SIGTERM", () => worker.dispose())
`

/** Bundles like Wrangler, with esbuild and the conditions of Workers. */
export const check = async (compiled: string, to: string): Promise<string> => {
  const worker = path.join(to, "worker.mjs")
  const node = path.dirname(process.execPath)
  const args = ["worker.js", "--bundle", "--format=esm", "--conditions=workerd,worker,browser", `--outfile=${worker}`]
  await run("esbuild", [...args, "--external:node:*"], { cwd: compiled, bin: [node, await binOf("esbuild")] })
  const miniflare = path.join(await install("miniflare"), "node_modules/miniflare/dist/src/index.js")
  const file = path.join(to, "start.mjs")
  writeFileSync(file, start(pathToFileURL(miniflare).href, worker))
  await Project.serving(process.execPath, [file], { cwd: to }, async (port) => {
    const env = { MCP_URL: `http://127.0.0.1:${port}/mcp` }
    const { stdout } = await run(process.execPath, ["http-client.js"], { cwd: compiled, env })
    Project.must("The client of the worker", stdout)
  })
  return `miniflare ${versionOf("miniflare")}, over HTTP`
}
