import { QueryClientProvider } from '@tanstack/preact-query'
import { render } from 'preact'
import { Router } from 'wouter-preact'
import { App } from './app.tsx'
import { client } from './session.ts'
import { applyTheme } from './theme.ts'

applyTheme()
render(
  <QueryClientProvider client={client}>
    <Router base="/dashboard">
      <App />
    </Router>
  </QueryClientProvider>,
  document.getElementById('app') as HTMLElement,
)
