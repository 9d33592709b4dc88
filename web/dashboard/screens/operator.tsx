import { Screen } from '../components/screen.tsx'
import { Merchants } from './operator/merchants.tsx'
import { System } from './operator/system.tsx'

/** For members with the operator flag. It belongs to no merchant. */
export default function Operator() {
  return (
    <Screen title="Operator" about="All merchants, and the state of this installation.">
      <Merchants />
      <System />
    </Screen>
  )
}
