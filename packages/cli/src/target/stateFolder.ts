/** The folder for the user's state. */
import { homedir } from "node:os"
import { join } from "node:path"

/** Returns the folder for one kind of state. An empty variable counts as unset, as in the XDG specification. */
export const stateFolder = (name: string, env: NodeJS.ProcessEnv = process.env): string => {
  const set = [env["XDG_STATE_HOME"], env["LOCALAPPDATA"]].find((folder) => folder !== undefined && folder !== "")
  return join(set ?? join(homedir(), ".local", "state"), "effect-mcp", name)
}
