/** Measures how cost grows with registered tools, open sessions and subscribers. */
import type { Table } from "../Measure.ts"
import type { Options } from "../Options.ts"
import { sessions } from "../growth/Sessions.ts"
import { subscribers } from "../growth/Subscribers.ts"
import { tools } from "../growth/Tools.ts"

export const growth = async (options: Options): Promise<ReadonlyArray<Table>> => [
  await tools(options),
  await sessions(options),
  await subscribers(options)
]
