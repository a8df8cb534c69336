/** The user's tasks on the server, in revisions in which the server can list them. */
import type { TaskState } from "@effect-mcp/client/McpClient"
import { useEffect, useState } from "preact/hooks"
import { day, line } from "./format.ts"
import { isConnected } from "./Parts.tsx"
import { link } from "./route.ts"
import { connection, send } from "./state.ts"

export const hasTasks = (): boolean => connection.value.capabilities?.tasks?.list !== undefined

/** Classes of the badges of tasks that have ended. */
const looks: { readonly [status: string]: string } = { completed: "good", failed: "bad", cancelled: "" }

const follow = async (task: string): Promise<void> => {
  const answer = await send({ _tag: "Follow", task })
  if (answer !== undefined) location.hash = link("run", Number(answer["run"]))
}

export const Tasks = () => {
  const [tasks, setTasks] = useState<ReadonlyArray<TaskState>>([])
  const list = async () => {
    const answer = await send({ _tag: "Tasks" })
    // The process has decoded them.
    if (Array.isArray(answer?.["tasks"])) setTasks(answer["tasks"])
  }
  const canList = hasTasks() && isConnected()
  useEffect(() => {
    if (canList) void list()
  }, [canList])
  return (
    <section class="card">
      <header class="bar">
        <h2>Tasks</h2>
        <button type="button" class="small" disabled={!canList} onClick={() => void list()}>
          List again
        </button>
      </header>
      {hasTasks() ? null : <p class="quiet">The server can't list tasks in this revision.</p>}
      {hasTasks() && tasks.length === 0 ? <p class="quiet">The server has no tasks of yours.</p> : null}
      <ul class="plain">
        {tasks.map(({ createdAt, id, message, status }) => (
          <li key={id} class="part">
            <p class="bar">
              <span class={`badge ${looks[status] ?? "busy"}`}>{line(status, 40)}</span> <code>{line(id, 80)}</code>
              <button type="button" class="small" disabled={!canList} onClick={() => void follow(id)}>
                Follow
              </button>
            </p>
            <p class="quiet">
              {[day(Date.parse(createdAt)), line(message ?? "", 200)].filter((part) => part !== "").join(" · ")}
            </p>
          </li>
        ))}
      </ul>
    </section>
  )
}
