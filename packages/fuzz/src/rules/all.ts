/** Every rule of the fuzzer. */
import type { Rule } from "../model/Rule.ts"
import { apps } from "./apps.ts"
import { features } from "./features.ts"
import { http } from "./http.ts"
import { httpHeaders } from "./httpHeaders.ts"
import { httpSessions } from "./httpSessions.ts"
import { lifecycle } from "./lifecycle.ts"
import { messages } from "./messages.ts"
import { progressRules } from "./progress.ts"
import { skills } from "./skills.ts"
import { stateless } from "./stateless.ts"
import { subscriptions } from "./subscriptions.ts"
import { taskAccess } from "./taskAccess.ts"
import { tasks } from "./tasks.ts"
import { tasksExtension } from "./tasksExtension.ts"

export const all: ReadonlyArray<Rule> = [
  ...messages,
  ...lifecycle,
  ...progressRules,
  ...features,
  ...stateless,
  ...subscriptions,
  ...tasks,
  ...tasksExtension,
  ...taskAccess,
  ...skills,
  ...apps,
  ...http,
  ...httpSessions,
  ...httpHeaders
]
