/** A run: its progress, tasks, result and error, and how to repeat, compare and copy it. */
import { structuredPatch } from "diff"
import { useEffect, useMemo, useState } from "preact/hooks"
import type { UserRun } from "../messages/Events.ts"
import { Shown } from "./Content.tsx"
import { asCommand, asTest } from "./copies.ts"
import { day, duration, line, time } from "./format.ts"
import { Json } from "./Json.tsx"
import { link, type ViewName } from "./route.ts"
import { connection, copy, lists, name, runs, send } from "./state.ts"
import { ViewFrame, viewUriOf } from "./ViewFrame.tsx"

/** Maximum length of a result to compare, in characters. */
const mostCompared = 200_000

const viewOf: { readonly [K in UserRun["kind"]]: ViewName } = {
  tool: "tool",
  resource: "resource",
  prompt: "prompt",
  ping: "overview",
  task: "tasks"
}

/** Time since the start of a run, which ticks. */
const Elapsed = ({ since }: { readonly since: number }) => {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 100)
    return () => clearInterval(timer)
  }, [])
  return <span class="figure">{duration(Math.max(0, now - since))}</span>
}

export const Status = ({ run }: { readonly run: UserRun }) => {
  const failed = run.status === "failed" || (run.status === "done" && Object(run.result).isError === true)
  const text = failed && run.status === "done" ? "tool error" : run.status
  return <span class={`badge ${failed ? "bad" : run.status === "done" ? "good" : "busy"}`}>{text}</span>
}

const Progress = ({ run: { progress, status } }: { readonly run: UserRun }) => {
  const last = progress.at(-1)
  if (last === undefined) return null
  const { message, progress: done, total } = last
  return (
    <section class="part" aria-label="Progress">
      <p class="bar">
        <progress
          aria-label="Progress of the call"
          {...(total === undefined ? (status === "running" ? {} : { value: 1 }) : { value: done, max: total })}
        />
        <span class="figure">
          {done}
          {total === undefined ? "" : ` of ${total}`}
        </span>
        <span>{line(message ?? "", 200)}</span>
      </p>
      <details>
        <summary>{progress.length} notifications</summary>
        <ol class="plain">
          {progress.map((each, at) => (
            <li key={at}>
              <span class="quiet">{time(each.at)}</span> {each.progress} {line(each.message ?? "", 200)}
            </li>
          ))}
        </ol>
      </details>
    </section>
  )
}

const Tasks = ({ run: { tasks } }: { readonly run: UserRun }) =>
  tasks.length === 0 ? null : (
    <section class="part" aria-label="Task">
      <p class="subhead">
        Task <code>{line(tasks.at(-1)?.id ?? "", 80)}</code>
      </p>
      <ol class="plain">
        {tasks.map(({ at, message, status }, index) => (
          <li key={index}>
            <span class="quiet">{time(at)}</span> <span class="badge busy">{line(status, 40)}</span>{" "}
            {line(message ?? "", 200)}
          </li>
        ))}
      </ol>
    </section>
  )

const pretty = (run: UserRun): string => JSON.stringify(run.result ?? run.error ?? null, null, 2).slice(0, mostCompared)

const Diff = ({ other, run }: { readonly run: UserRun; readonly other: UserRun }) => {
  const hunks = useMemo(() => {
    const limits = { context: 2, maxEditLength: 5000 }
    const texts = [`${pretty(other)}\n`, `${pretty(run)}\n`] as const
    return structuredPatch("before", "after", ...texts, undefined, undefined, limits)?.hunks ?? []
  }, [other, run])
  if (hunks.length === 0) return <p class="quiet">Both results are the same, or they differ in too many lines.</p>
  return (
    <pre class="diff" tabIndex={0} aria-label="Differences">
      {hunks.flatMap(({ lines }, at) => [
        <span key={`hunk ${at}`} class="quiet">
          {at === 0 ? "" : "…\n"}
        </span>,
        ...lines.map((each, index) => (
          <span key={`${at} ${index}`} class={each.startsWith("+") ? "added" : each.startsWith("-") ? "removed" : ""}>
            {each}
            {"\n"}
          </span>
        ))
      ])}
    </pre>
  )
}

const again = ({ asTask, input, kind, name: of }: UserRun) => {
  if (kind === "tool") return send({ _tag: "Call", tool: of, arguments: input, task: asTask })
  if (kind === "resource") return send({ _tag: "Read", uri: of })
  if (kind === "ping") return send({ _tag: "Ping" })
  if (kind === "task") return send({ _tag: "Follow", task: of })
  const texts = Object.fromEntries(Object.entries(input).map(([key, value]) => [key, String(value)]))
  return send({ _tag: "Get", prompt: of, arguments: texts })
}

const Actions = ({ run }: { readonly run: UserRun }) => {
  const { id, input, kind, name: of, status } = run
  const [compared, compare] = useState("")
  const others = runs.value.filter(
    (each) => each.id !== id && each.name === of && each.kind === kind && each.took !== undefined
  )
  const other = others.find((each) => String(each.id) === compared)
  const command = asCommand(run, name.value)
  return (
    <>
      <div class="bar tools">
        {status === "running" ? (
          <button type="button" class="small danger" onClick={() => void send({ _tag: "Cancel", run: id })}>
            Cancel
          </button>
        ) : (
          <button
            type="button"
            class="small"
            disabled={connection.value.status !== "connected"}
            onClick={() => void again(run)}
          >
            Run again
          </button>
        )}
        {kind === "tool" || kind === "prompt" ? (
          <a class="button small" href={link(viewOf[kind], of, input)}>
            Edit
          </a>
        ) : null}
        <button
          type="button"
          class="small"
          onClick={() => void copy(JSON.stringify(run.result ?? run.error ?? null, null, 2), "the result as JSON")}
        >
          Copy JSON
        </button>
        {command === undefined ? null : (
          <button type="button" class="small" onClick={() => void copy(command, "an effect-mcp command")}>
            Copy as command
          </button>
        )}
        <button type="button" class="small" onClick={() => void copy(asTest(run), "a test")}>
          Copy as test
        </button>
        <button
          type="button"
          class="small"
          onClick={() => void copy(new URL(link("run", id), location.href).href, "a link to this run")}
        >
          Copy link
        </button>
        {others.length === 0 || status === "running" ? null : (
          <select
            aria-label="Compare with another run"
            value={compared}
            onChange={({ currentTarget }) => compare(currentTarget.value)}
          >
            <option value="">Compare with …</option>
            {others.toReversed().map((each) => (
              <option key={each.id} value={String(each.id)}>
                Run {each.id}, {day(each.startedAt)}, {each.status}
              </option>
            ))}
          </select>
        )}
      </div>
      {other === undefined ? null : <Diff run={run} other={other} />}
    </>
  )
}

export const RunView = ({ run }: { readonly run: UserRun }) => {
  const { error, id, input, kind, name: of, result, revision, size, startedAt, status, took } = run
  const tool = kind === "tool" ? lists.value.tools?.find((each) => each.name === of) : undefined
  return (
    <section class="card run" aria-label={`Run ${id}`} data-run={id}>
      <header class="bar">
        <h3>
          <a href={link("run", id)}>Run {id}</a> <span class="quiet">{line(of, 80)}</span>
        </h3>
        <Status run={run} />
        {status === "running" ? <Elapsed since={startedAt} /> : <span class="figure">{duration(took ?? 0)}</span>}
        <span class="quiet">
          {revision}, {time(startedAt)}
        </span>
      </header>
      <Actions run={run} />
      <Progress run={run} />
      <Tasks run={run} />
      {error === undefined ? null : (
        <section class="part wrong">
          <p class="subhead">
            {line(error.tag, 60)} {error.code ?? ""}
          </p>
          <p>{line(error.message, 2000)}</p>
          {error.data === undefined ? null : <Json value={error.data} />}
        </section>
      )}
      {result !== undefined && name.value.hasViews && viewUriOf(tool?._meta) !== undefined ? (
        <ViewFrame run={run} />
      ) : null}
      {result === undefined ? null : <Shown kind={kind} result={result} schema={tool?.outputSchema} />}
      {size === 0 ? <p class="quiet">The result was too long to keep.</p> : null}
      {Object.keys(input).length === 0 ? null : (
        <details class="part">
          <summary>Arguments</summary>
          <Json value={input} />
        </details>
      )}
    </section>
  )
}
