/** Rates and tools in the last 15 minutes as terminal lines. Pure. */
import type { Recent, RequestRow, ToolRow } from "@effect-mcp/operate/Admin"
import { displayWidth } from "effect/cli/CliOutput"
import { safeLine, type Style } from "../terminal/Style.ts"

/** Number of seconds over which to average a rate. */
export const averaged = 10

const duration = (milliseconds: number | undefined): string => {
  if (milliseconds === undefined) return "-"
  if (milliseconds < 10) return `${milliseconds.toFixed(1)}ms`
  return milliseconds < 1000 ? `${Math.round(milliseconds)}ms` : `${(milliseconds / 1000).toFixed(1)}s`
}

/** Returns a line of rates, or an empty text if the server keeps no history. */
export const rates = (recent: Recent | undefined, { red }: Style): string => {
  const last = recent?.samples.slice(-averaged) ?? []
  if (last.length === 0) return ""
  const perSecond = (of: (sample: (typeof last)[number]) => number) =>
    last.reduce((sum, sample) => sum + of(sample), 0) / last.length
  const failed = perSecond(({ failures }) => failures)
  const failures = `${failed.toFixed(1)} failed/s`
  return [
    `${perSecond(({ calls }) => calls).toFixed(1)} calls/s`,
    failed > 0 ? red(failures) : failures,
    `p95 ${duration(last.at(-1)?.p95)}`
  ].join("  ")
}

const heads = ["TOOL", "RUNNING", "CALLS", "PER MIN", "FAILED", "P50", "P95", "LAST ERROR"]

const cellsOf = (tool: ToolRow, running: number): ReadonlyArray<string> => {
  const { calls, failures, last, name, p50, p95, perMinute } = tool
  const code = last?.code === undefined ? "" : ` ${last.code}`
  return [
    safeLine(name),
    `${running}`,
    `${calls}`,
    perMinute.toFixed(1),
    `${failures}`,
    duration(p50),
    duration(p95),
    last === undefined ? "" : `${last.outcome}${code} at ${new Date(last.time).toISOString().slice(11, 19)} UTC`
  ]
}

/** Returns the tools as a table, most called first. */
export const tools = (
  recent: Recent | undefined,
  requests: ReadonlyArray<RequestRow>,
  { bold, dim, red }: Style
): ReadonlyArray<string> => {
  if (recent === undefined) return [dim("The server keeps no history. Provide Admin.layerHistory() to enable it.")]
  const running = (name: string) =>
    requests.filter(({ method, target }) => method === "tools/call" && target === name).length
  const order = recent.tools.toSorted((a, b) => b.calls - a.calls)
  const rows = [heads, ...order.map((tool) => cellsOf(tool, running(tool.name)))]
  const widths = heads.map((_, i) => Math.max(...rows.map((row) => displayWidth(row[i] ?? ""))))
  const lines = rows.map((row) =>
    row
      .map((cell, i) => {
        const space = " ".repeat(Math.max(0, (widths[i] ?? 0) - displayWidth(cell)))
        return i === 0 || i === row.length - 1 ? cell + space : space + cell
      })
      .join("  ")
      .trimEnd()
  )
  return lines.map((line, i) => (i === 0 ? bold(line) : (order[i - 1]?.failures ?? 0) > 0 ? red(line) : line))
}
