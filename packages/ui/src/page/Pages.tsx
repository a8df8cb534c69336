/** Views that belong to the session: overview, history, logs, findings and answers. */
import { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import { useEffect, useState } from "preact/hooks"
import { counted, day, duration, heading, line, time } from "./format.ts"
import { Json } from "./Json.tsx"
import { Leave, Markdown } from "./Markdown.tsx"
import { link, route } from "./route.ts"
import { RunView, Status } from "./RunView.tsx"
import { connection, findings, lists, logs, name, runs, send, settings } from "./state.ts"

/** A request to the user, such as to log in, if nothing has been logged since. */
const LastNote = () => {
  const last = logs.value.at(-1)
  const text = last?.source === "note" && last.level === "notice" ? last.text : ""
  const [address] = /https?:\/\/\S+/.exec(text) ?? []
  return (
    <section class="card" aria-label="Connecting">
      <p>{text === "" ? "Connecting …" : line(text.replace(address ?? "", "").trim(), 500)}</p>
      {address === undefined ? null : (
        <p class="address">
          <Leave href={address} />
        </p>
      )}
    </section>
  )
}

export const Overview = () => {
  const { capabilities, error, instructions, revision, server, status, took } = connection.value
  const { errors, ...all } = lists.value
  return (
    <>
      {status === "connecting" ? <LastNote /> : null}
      {status === "closed" ? (
        <section class="card wrong">
          <h2>Not connected</h2>
          {error === undefined ? null : <p class="text">{error.slice(0, 4000)}</p>}
          <p class="quiet">
            <a href={link("logs")}>Logs</a> has the server's last messages. To try again, press "Connect" at the top.
          </p>
        </section>
      ) : null}
      <section class="card">
        <header class="bar">
          <h2>{line(server?.title ?? server?.name ?? name.value.name, 100)}</h2>
          {server === undefined ? null : <span class="badge">{line(server.version, 40)}</span>}
          {revision === undefined ? null : (
            <span class="quiet">
              {revision}, connected in {duration(took ?? 0)}
            </span>
          )}
        </header>
        <p>
          <code>{line(name.value.name, 400)}</code>
        </p>
        {server?.description === undefined ? null : <p>{line(server.description, 1000)}</p>}
        {server?.websiteUrl === undefined ? null : (
          <p>
            <Leave href={server.websiteUrl} />
          </p>
        )}
        <ul class="figures">
          {Object.entries(all).map(([list, items]) => (
            <li key={list}>{counted(items.length, heading(list).toLowerCase().replace(/s$/, ""))}</li>
          ))}
        </ul>
        {Object.entries(errors).map(([list, message]) => (
          <p key={list} class="violation">
            {heading(list)}: {line(message, 500)}
          </p>
        ))}
        <div class="bar">
          <button type="button" disabled={status !== "connected"} onClick={() => void send({ _tag: "Ping" })}>
            Ping
          </button>
          <button type="button" disabled={status !== "connected"} onClick={() => void send({ _tag: "Refresh" })}>
            List again
          </button>
        </div>
      </section>
      {runs.value
        .filter(({ kind }) => kind === "ping")
        .slice(-1)
        .map((run) => (
          <RunView key={run.id} run={run} />
        ))}
      {instructions === undefined ? null : (
        <section class="card">
          <h2>Instructions</h2>
          <Markdown text={instructions} />
        </section>
      )}
      {capabilities === undefined ? null : (
        <section class="card">
          <h2>Capabilities</h2>
          <Json value={capabilities} open={3} />
        </section>
      )}
    </>
  )
}

export const History = () => (
  <section class="card">
    <header class="bar">
      <h2>History</h2>
      <button
        type="button"
        class="small"
        disabled={runs.value.length === 0}
        onClick={() => void send({ _tag: "Forget" })}
      >
        Forget all
      </button>
    </header>
    {runs.value.length === 0 ? <p class="quiet">Nothing has been called yet.</p> : null}
    <div class="scroll history" hidden={runs.value.length === 0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col">What</th>
            <th scope="col">Result</th>
            <th scope="col">Took</th>
            <th scope="col" class="when">
              When
            </th>
          </tr>
        </thead>
        <tbody>
          {runs.value.toReversed().map((run) => (
            <tr key={run.id}>
              <td>
                <a href={link("run", run.id)}>Run {run.id}</a>
              </td>
              <td class="what">
                {run.kind} <strong>{line(run.name, 60)}</strong>
              </td>
              <td>
                <Status run={run} />
              </td>
              <td class="figure">{run.took === undefined ? "" : duration(run.took)}</td>
              <td class="quiet when">{day(run.startedAt)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </section>
)

export const OneRun = () => {
  const run = runs.value.find(({ id }) => String(id) === route.value.item)
  return run === undefined ? (
    <section class="card">
      <p>There is no run {line(route.value.item, 20)} in the history.</p>
    </section>
  ) : (
    <RunView key={run.id} run={run} />
  )
}

export const Logs = () => {
  const [wanted, setWanted] = useState("")
  const found = logs.value.filter(({ text }) => text.toLowerCase().includes(wanted.toLowerCase()))
  return (
    <section class="card">
      <header class="bar">
        <h2>Logs</h2>
        <input
          type="search"
          aria-label="Search logs"
          placeholder="Search logs"
          value={wanted}
          onInput={({ currentTarget }) => setWanted(currentTarget.value)}
        />
        {connection.value.capabilities?.logging === undefined ? null : (
          <label class="inline">
            Level
            <select
              value=""
              onChange={({ currentTarget: { value } }) => {
                const level = LoggingLevel.literals.find((each) => each === value)
                if (level !== undefined) void send({ _tag: "LogLevel", level })
              }}
            >
              <option value="">(unchanged)</option>
              {LoggingLevel.literals.map((level) => (
                <option key={level} value={level}>
                  {level}
                </option>
              ))}
            </select>
          </label>
        )}
      </header>
      {found.length > 0 ? null : (
        <p class="quiet">
          {logs.value.length === 0 ? "The server has logged nothing yet." : "No log message matches."}
        </p>
      )}
      <ol class="plain logs">
        {found.toReversed().map(({ at, id, level, logger, source, text }) => (
          <li key={id}>
            <span class="quiet figure">{time(at)}</span>{" "}
            <span class={`badge ${/^(err|crit|alert|emerg)/.test(level) ? "bad" : level === "warning" ? "busy" : ""}`}>
              {source === "log" ? level : source}
            </span>{" "}
            {logger === undefined ? null : <span class="quiet">{line(logger, 40)} </span>}
            <span class="text">{line(text, 4000)}</span>
          </li>
        ))}
      </ol>
    </section>
  )
}

export const Findings = () => (
  <section class="card">
    <h2>Findings</h2>
    <p class="quiet">Rules of the specification that the server broke in the messages on the wire so far.</p>
    {findings.value.length === 0 ? <p>None so far.</p> : null}
    <ul class="plain">
      {findings.value.map(({ at, detail, key, level, revision, rule, section, text }) => (
        <li key={`${key} ${revision}`} class="part">
          <p class="bar">
            <span class={`badge ${level === "MUST" ? "bad" : "busy"}`}>{level}</span> <strong>{line(rule, 80)}</strong>{" "}
            <span class="quiet">
              {revision}, {time(at)}
            </span>
          </p>
          <p>{line(detail, 1000)}</p>
          <p class="quiet">{text}</p>
          {section === undefined ? null : (
            <p>
              <Leave href={`https://modelcontextprotocol.io/specification/${revision}/${section}`}>{section}</Leave>
            </p>
          )}
        </li>
      ))}
    </ul>
  </section>
)

const linesOf = (text: string): ReadonlyArray<string> => text.split("\n").filter((each) => each.trim() !== "")

export const Answers = () => {
  const { replies, roots } = settings.value
  const [rootText, setRoots] = useState("")
  const [replyText, setReplies] = useState("")
  const saved = JSON.stringify(settings.value)
  useEffect(() => {
    setRoots(roots.map(({ uri }) => uri).join("\n"))
    setReplies(replies.join("\n"))
    // A page that reconnects receives equal settings again, which must not replace what was typed.
  }, [saved])
  return (
    <section class="card">
      <h2>Answers</h2>
      <p class="quiet">Forms, pages and requests to a model wait for you on this page. These answers need no person.</p>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void send({
            _tag: "Settings",
            roots: linesOf(rootText).map((uri) => ({ uri: uri.trim() })),
            replies: linesOf(replyText)
          })
        }}
      >
        <div class="field">
          <label for="roots">Roots</label>
          <p class="about">Folders that the server may ask for, as file: URIs, one on each line.</p>
          <textarea
            id="roots"
            class="code"
            rows={3}
            value={rootText}
            placeholder="file:///home/ada/project"
            onInput={({ currentTarget }) => setRoots(currentTarget.value)}
          />
        </div>
        <div class="field">
          <label for="replies">Scripted model</label>
          <p class="about">
            Replies to sampling requests, one on each line, in order; the last one is repeated. Without replies, you
            answer by hand.
          </p>
          <textarea
            id="replies"
            rows={3}
            value={replyText}
            onInput={({ currentTarget }) => setReplies(currentTarget.value)}
          />
        </div>
        <div class="bar end">
          <button type="submit" class="primary">
            Save
          </button>
        </div>
      </form>
    </section>
  )
}
