/**
 * The ledger: all areas merged, and the union of all ids. An id starts with the name of its area, so areas cannot collide.
 */
import { apps } from "./ledger/apps.ts"
import { authorizationClient } from "./ledger/authorization-client.ts"
import { clientCredentials, enterpriseAuthorization } from "./ledger/authorization-extensions.ts"
import { authorizationIssuer } from "./ledger/authorization-issuer.ts"
import { authorizationServer } from "./ledger/authorization-server.ts"
import { bestPractices } from "./ledger/best-practices.ts"
import { caching } from "./ledger/caching.ts"
import { icons, jsonSchema, meta, security } from "./ledger/basic.ts"
import { roots, sampling } from "./ledger/client-features.ts"
import { elicitation } from "./ledger/elicitation.ts"
import { jsonRpc } from "./ledger/json-rpc.ts"
import { lifecycle } from "./ledger/lifecycle.ts"
import { prompts } from "./ledger/prompts.ts"
import { resources } from "./ledger/resources.ts"
import { completion, logging, pagination } from "./ledger/server-utilities.ts"
import { discover, mrtr, stateless, subscriptions, versioning } from "./ledger/stateless.ts"
import { skills } from "./ledger/skills.ts"
import { tasks } from "./ledger/tasks.ts"
import { tasksExtension } from "./ledger/tasks-extension.ts"
import { tools } from "./ledger/tools.ts"
import { httpStateless } from "./ledger/transports-http-stateless.ts"
import { http, sse } from "./ledger/transports-http.ts"
import { stdio, transport } from "./ledger/transports-stdio.ts"
import { cancellation, ping, progress } from "./ledger/utilities.ts"
import { byId, requirements } from "./Requirement.ts"

/** The requirements by area, in the order of the specification. */
export const areas = {
  "json-rpc": jsonRpc,
  meta,
  "json-schema": jsonSchema,
  icons,
  lifecycle,
  stateless,
  versioning,
  discover,
  transport,
  stdio,
  http: requirements(http, httpStateless),
  sse,
  cancellation,
  ping,
  progress,
  mrtr,
  subscriptions,
  tools,
  resources,
  prompts,
  completion,
  logging,
  pagination,
  caching,
  roots,
  sampling,
  elicitation,
  authorization: requirements(authorizationClient, authorizationServer, authorizationIssuer),
  "enterprise-authorization": enterpriseAuthorization,
  "client-credentials": clientCredentials,
  tasks,
  "tasks-extension": tasksExtension,
  skills,
  apps,
  security,
  "best-practices": bestPractices
} as const

/** The name of an area, which is the first segment of its ids. */
export type Area = keyof typeof areas

/** Every entry by its id. */
export const ledger = byId(requirements(...Object.values(areas)))

/** The id of an entry, such as `tools.call.unknown-tool`. */
// `Extract` names the union, so that an error about a wrong id does not print every id.
export type RequirementId = Extract<keyof typeof ledger, string>

/** True if the text is the id of an entry. */
export const isRequirementId = (id: string): id is RequirementId => Object.hasOwn(ledger, id)
