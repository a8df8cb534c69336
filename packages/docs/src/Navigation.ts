/** The order of the pages, by their names in `pages`. */
export const groups: ReadonlyArray<{ readonly title: string; readonly pages: ReadonlyArray<string> }> = [
  { title: "First steps", pages: ["start", "tools", "client", "testing", "http", "auth", "without-effect"] },
  {
    title: "More for your server",
    pages: ["resources", "prompts", "progress", "asking", "existing-apis", "middleware", "extensions"]
  },
  {
    title: "Test and debug",
    pages: [
      "testing-handlers",
      "testing-simulation",
      "testing-fuzzing",
      "fuzzing-clients",
      "recordings",
      "commands",
      "troubleshooting"
    ]
  },
  { title: "In production", pages: ["deploying", "limits", "operations", "many-nodes", "performance"] },
  { title: "Long work", pages: ["tasks", "long-work"] },
  { title: "Several servers", pages: ["several-clients", "agents", "gateway"] },
  { title: "Migrate", pages: ["compared", "migrating", "migrating-from-the-sdk", "migrating-from-effect-ai"] },
  { title: "Reference", pages: ["revisions", "rough-edges"] }
]

/** Page of the site for each folder of the repository that other pages link to. */
export const homes: Readonly<Record<string, string>> = {
  "packages/ai": "agents",
  "packages/auth": "auth",
  "packages/bridge": "existing-apis",
  "packages/cli": "commands",
  "packages/client": "client",
  "packages/compat": "migrating-from-the-sdk",
  "packages/core": "tools",
  "packages/create": "start",
  "packages/fuzz": "testing-fuzzing",
  "packages/gateway": "gateway",
  "packages/nodes": "many-nodes",
  "packages/operate": "operations",
  "packages/promise": "without-effect",
  "packages/server": "http",
  "packages/tasks": "tasks",
  "packages/testing": "testing"
}
