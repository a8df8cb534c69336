/**
 * Records `npm start` in a terminal for the front page of the site: `node packages/docs/src/record.ts` writes `recordings/start.json`.
 * The terminal is `script` of util-linux. Run it on an idle machine: the recording has the real times.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { recorder, type Recording } from "./Recording.ts"
import { docs, root } from "./Repository.ts"

const command = "npm start"

/** Names no folder of the machine that recorded it. */
const neutral = (text: string): string =>
  text.replaceAll(pathToFileURL(root).href, "file:///home/you/effect-mcp").replaceAll(root, "~/effect-mcp")

const child = spawn("script", ["-qefc", `stty cols 100; ${command}`, "/dev/null"], {
  cwd: root,
  env: { ...process.env, npm_config_progress: "false", npm_config_update_notifier: "false" },
  stdio: ["ignore", "pipe", "inherit"]
})
const started = performance.now()
const { add, steps } = recorder()
child.stdout.setEncoding("utf8").on("data", (output: string) => add(output, Math.round(performance.now() - started)))
const [code] = await once(child, "close")
if (code !== 0) throw new Error(`${command} exited with ${code}`)

const recording: Recording = { command, steps: steps.map((step) => ({ ...step, text: neutral(step.text) })) }
const file = path.join(docs, "recordings/start.json")
mkdirSync(path.dirname(file), { recursive: true })
writeFileSync(file, `${JSON.stringify(recording, undefined, 2)}\n`)
