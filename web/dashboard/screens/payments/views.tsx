import { useState } from 'preact/hooks'
import type { SavedView } from '../../answers.ts'
import { send } from '../../api.ts'
import { useAction, useData } from '../../components/data.ts'
import { Dialog } from '../../components/dialog.tsx'
import { Field, Form, SelectField } from '../../components/form.tsx'
import { ProblemText } from '../../components/problem.tsx'
import { useMerchant } from '../../session.ts'

interface Parts {
  /** The filters of the list, without the search text. Empty: not set. */
  filters: Record<string, string>
  apply: (filters: Record<string, string>) => void
}

const isSame = (one: Record<string, string>, other: Record<string, string>) =>
  JSON.stringify(Object.entries(one).sort()) === JSON.stringify(Object.entries(other).sort())

/** The member's named sets of filters: choose one, save the current filters, rename and delete. */
export function Views({ filters, apply }: Parts) {
  const path = useMerchant().apiOfBothModes('/views')
  const views = useData<SavedView[]>(path).data ?? []
  const [opened, setOpened] = useState<'save' | 'manage'>()
  const close = () => setOpened(undefined)
  const set = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== ''))
  const isFiltered = Object.keys(set).length > 0
  const current = views.find((view) => isSame(view.filters, set))
  const options: [string, string][] = [
    ['', isFiltered && !current ? 'Not saved' : 'All payments'],
    ...views.map(({ id, name }): [string, string] => [id, name]),
  ]
  return (
    <>
      {views.length > 0 && (
        <SelectField
          label="View"
          value={current?.id ?? ''}
          options={options}
          onChange={(id) => apply(views.find((view) => view.id === id)?.filters ?? {})}
        />
      )}
      {isFiltered && !current && (
        <button type="button" onClick={() => setOpened('save')}>
          Save view
        </button>
      )}
      {views.length > 0 && (
        <button type="button" onClick={() => setOpened('manage')}>
          Manage views
        </button>
      )}
      {opened === 'save' && <SaveView path={path} filters={set} onClose={close} />}
      {opened === 'manage' && <ManageViews path={path} views={views} onClose={close} />}
    </>
  )
}

function SaveView({ path, filters, onClose }: { path: string; filters: Record<string, string>; onClose: () => void }) {
  const [name, setName] = useState('')
  const action = useAction({
    run: () => send('POST', path, { name, filters }),
    refresh: [path],
    done: 'View saved',
    onDone: onClose,
  })
  return (
    <Dialog title="Save view" onClose={onClose}>
      <Form submit="Save" action={action} onCancel={onClose}>
        <Field
          label="Name"
          required
          maxLength={60}
          value={name}
          hint="Only you see it, in both modes. The text in the search box is not part of a view."
          onText={setName}
        />
      </Form>
    </Dialog>
  )
}

function ManageViews({ path, views, onClose }: { path: string; views: SavedView[]; onClose: () => void }) {
  const [renamed, setRenamed] = useState<SavedView>()
  const [name, setName] = useState('')
  const rename = useAction({
    run: () => send('PATCH', `${path}/${renamed?.id}`, { name }),
    refresh: [path],
    done: 'View renamed',
    onDone: () => setRenamed(undefined),
  })
  const remove = useAction({
    run: (id: string) => send('DELETE', `${path}/${id}`),
    refresh: [path],
    done: 'View deleted',
  })
  if (renamed)
    return (
      <Dialog key="rename" title="Rename view" onClose={() => setRenamed(undefined)}>
        <Form submit="Rename" action={rename} onCancel={() => setRenamed(undefined)}>
          <Field label="Name" required maxLength={60} value={name} onText={setName} />
        </Form>
      </Dialog>
    )
  return (
    <Dialog key="manage" title="Your views" onClose={onClose}>
      <ul class="rows">
        {views.map((view) => (
          <li key={view.id}>
            <span class="cell-main">{view.name}</span>
            <div class="actions">
              <button
                type="button"
                aria-label={`Rename ${view.name}`}
                onClick={() => {
                  setName(view.name)
                  setRenamed(view)
                }}
              >
                Rename
              </button>
              <button type="button" aria-label={`Delete ${view.name}`} onClick={() => remove.mutate(view.id)}>
                Delete
              </button>
            </div>
          </li>
        ))}
      </ul>
      {views.length === 0 && <p>No views.</p>}
      <ProblemText error={remove.error} />
      <div class="form-actions">
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  )
}
