import { Screen } from '../components/screen.tsx'
import { useMerchant } from '../session.ts'

export default function Overview() {
  const merchant = useMerchant()
  return (
    <Screen title="Overview">
      <p>{merchant.name}</p>
    </Screen>
  )
}
