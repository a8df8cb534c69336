/** Parts that the views of tools, resources and prompts share. */
import type { ComponentChildren } from "preact"
import { useErrorBoundary } from "preact/hooks"
import type { UserRun } from "../messages/Events.ts"
import { line } from "./format.ts"
import { Json } from "./Json.tsx"
import { Markdown } from "./Markdown.tsx"
import { link } from "./route.ts"
import { RunView } from "./RunView.tsx"
import { connection, runs } from "./state.ts"

/** Number of runs to show below a form. */
const mostRuns = 5

/** An item's latest runs. */
export const Recent = ({ kind, of }: { readonly kind: UserRun["kind"]; readonly of: string }) => {
  const own = runs.value.filter((run) => run.kind === kind && run.name === of)
  return (
    <>
      {own
        .slice(-mostRuns)
        .toReversed()
        .map((run) => (
          <RunView key={run.id} run={run} />
        ))}
      {own.length > mostRuns ? <a href={link("history")}>{own.length - mostRuns} earlier runs</a> : null}
    </>
  )
}

/** Shows an error instead of children that can't be shown, so that a value of the server never costs the whole page. */
export const Guarded = ({ children }: { readonly children: ComponentChildren }) => {
  const [error] = useErrorBoundary()
  return error === undefined ? (
    <>{children}</>
  ) : (
    <p class="violation pad">This part of the page can't be shown: {line(String(error), 300)}</p>
  )
}

export const isConnected = (): boolean => connection.value.status === "connected"

/** An item's description and declaration. */
export const About = ({ description, raw }: { readonly description: string | undefined; readonly raw: unknown }) => (
  <>
    {description === undefined ? null : <Markdown text={description} />}
    <details class="part">
      <summary>Declaration</summary>
      <Json value={raw} />
    </details>
  </>
)
