/** The order of the pages, by their names in `pages`. */
export const groups: ReadonlyArray<{ readonly title: string; readonly pages: ReadonlyArray<string> }> = [
  { title: "First steps", pages: ["start", "tools", "client", "testing", "http", "auth", "without-effect"] },
  {
    title: "More for your server",
    pages: [
      "resources",
      "prompts",
      "progress",
      "asking",
      "views",
      "existing-apis",
      "middleware",
      "skills",
      "extensions"
    ]
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
      "ui",
      "troubleshooting"
    ]
  },
  { title: "In production", pages: ["deploying", "hosts", "limits", "operations", "many-nodes", "performance"] },
  { title: "Long work", pages: ["tasks", "long-work"] },
  { title: "Several servers", pages: ["several-clients", "agents", "gateway"] },
  { title: "Build a host", pages: ["host", "pins", "threats"] },
  { title: "Migrate", pages: ["compared", "migrating", "migrating-from-the-sdk", "migrating-from-effect-ai"] },
  { title: "Reference", pages: ["imports", "revisions", "rough-edges", "proofs"] }
]

/** Page of the site for each folder of the repository that other pages link to. */
export const homes: Readonly<Record<string, string>> = {
  "packages/ai": "agents",
  "packages/apps": "views",
  "packages/auth": "auth",
  "packages/bridge": "existing-apis",
  "packages/cli": "commands",
  "packages/client": "client",
  "packages/compat": "migrating-from-the-sdk",
  "packages/core": "tools",
  "packages/create": "start",
  "packages/fuzz": "testing-fuzzing",
  "packages/gateway": "gateway",
  "packages/host": "host",
  "packages/nodes": "many-nodes",
  "packages/operate": "operations",
  "packages/promise": "without-effect",
  "packages/server": "http",
  "packages/skills": "skills",
  "packages/tasks": "tasks",
  "packages/testing": "testing",
  "packages/ui": "ui"
}
