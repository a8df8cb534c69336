/** The order of the pages, by their names in `pages`. */
export const groups: ReadonlyArray<{ readonly title: string; readonly pages: ReadonlyArray<string> }> = [
  { title: "Begin", pages: ["start", "without-effect", "client", "testing"] },
  { title: "What a server offers", pages: ["tools", "resources", "prompts", "existing-apis"] },
  { title: "What a handler may use", pages: ["progress", "asking", "middleware", "extensions"] },
  { title: "Serve it", pages: ["http", "auth", "limits", "deploying", "many-nodes", "operations"] },
  { title: "Long work", pages: ["tasks", "long-work"] },
  { title: "Several servers", pages: ["several-clients", "agents", "gateway"] },
  {
    title: "Help",
    pages: [
      "commands",
      "troubleshooting",
      "migrating",
      "migrating-from-the-sdk",
      "migrating-from-effect-ai",
      "revisions",
      "performance",
      "compared",
      "rough-edges"
    ]
  }
]

/** The page of the site that tells about a folder of the repository. */
export const homes: Readonly<Record<string, string>> = {
  "packages/ai": "agents",
  "packages/auth": "auth",
  "packages/bridge": "existing-apis",
  "packages/cli": "commands",
  "packages/client": "client",
  "packages/compat": "migrating-from-the-sdk",
  "packages/console": "operations",
  "packages/core": "tools",
  "packages/create": "start",
  "packages/durable": "long-work",
  "packages/gateway": "gateway",
  "packages/nodes": "many-nodes",
  "packages/operate": "operations",
  "packages/promise": "without-effect",
  "packages/server": "http",
  "packages/tasks": "tasks",
  "packages/testing": "testing"
}
