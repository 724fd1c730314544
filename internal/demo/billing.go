package demo

import (
	"context"
	"math/rand/v2"

	"github.com/agentkernel/kernelctl/agent"
)

// bill is what the billing agent works on.
type bill struct {
	Do       string         `json:"do"` // refund, charge, transfer or close
	Invoice  string         `json:"invoice,omitempty"`
	Customer customer       `json:"customer,omitzero"`
	Amount   float64        `json:"amount,omitempty"`
	Currency string         `json:"currency,omitempty"`
	Card     string         `json:"card,omitempty"` // its last digits
	Account  string         `json:"account,omitempty"`
	Month    string         `json:"month,omitempty"`
	Entries  []journalEntry `json:"entries,omitempty"`
}

// journalEntry is one booking, with its lines.
type journalEntry struct {
	No    int           `json:"no"`
	Text  string        `json:"text"`
	Lines []journalLine `json:"lines"`
}

type journalLine struct {
	Account string            `json:"account"`
	Debit   float64           `json:"debit,omitempty"`
	Credit  float64           `json:"credit,omitempty"`
	Tax     map[string]string `json:"tax,omitempty"`
}

func billingOrder(r *rand.Rand, b bill) order {
	b.Customer, b.Invoice = someone(r), number(r, "INV")
	b.Currency = one(r, "EUR", "EUR", "USD")
	return order{input: b, labels: map[string]string{"team": "finance", "currency": b.Currency}}
}

func orderRefund(r *rand.Rand) order {
	// Most are small, some need a look, and what no rule names is denied.
	amount := one(r, money(r, 5, 50), money(r, 60, 900), money(r, 60, 4000), money(r, 5200, 9000))
	return billingOrder(r, bill{Do: "refund", Amount: amount})
}

func orderCharge(r *rand.Rand) order {
	return billingOrder(r, bill{Do: "charge", Amount: money(r, 20, 700), Card: one(r, "4242", "0341", "1881")})
}

func orderTransfer(r *rand.Rand) order {
	return billingOrder(r, bill{Do: "transfer", Amount: money(r, 9000, 80000), Account: one(r, "DE02 1203 0000 0000 2020 51", "NO93 8601 1117 947")})
}

func orderMonthEnd(r *rand.Rand) order {
	b := bill{Do: "close", Month: one(r, "2026-08", "2026-09", "2026-10")}
	for no := range 12 {
		net := money(r, 100, 9000)
		b.Entries = append(b.Entries, journalEntry{
			No: no + 1, Text: one(r, "hosting", "licences", "travel, shared", "freight inside the union", "consulting"),
			Lines: []journalLine{
				{Account: one(r, "6815", "6530", "6300"), Debit: net, Tax: map[string]string{"code": one(r, "9", "19"), "country": one(r, "DE", "NO", "FR")}},
				{Account: "1200", Credit: net},
			},
		})
	}
	return billingOrder(r, b)
}

// billing moves money, as far as it may.
func (c *company) billing(ctx context.Context, run *agent.Run) (any, error) {
	var in bill
	if err := run.Input(ctx, &in); err != nil {
		return nil, err
	}
	d := &desk{c, run, in.Invoice}
	invoice := map[string]any{"invoice": in.Invoice, "customer": in.Customer.Name, "paid": true, "total": in.Amount * 2, "currency": in.Currency}
	if err := d.use(ctx, "get_invoice", map[string]string{"invoice": in.Invoice}, invoice); err != nil {
		return nil, err
	}
	amount := map[string]any{"invoice": in.Invoice, "amount": in.Amount, "currency": in.Currency}
	var err error
	switch in.Do {
	case "refund":
		if _, err = d.think(ctx, roleClerk, "a refund to "+in.Customer.Name); err == nil {
			amount["customer"] = in.Customer
			err = d.use(ctx, "refund", amount, map[string]string{"refund": "re_" + in.Invoice})
		}
	case "charge":
		amount["card"] = "•••• " + in.Card
		var result any = map[string]string{"charge": "ch_" + in.Invoice}
		if in.Card == "0341" {
			result = agent.Failure(map[string]any{"reason": "card_declined", "code": "insufficient_funds", "retry": false})
		}
		err = d.use(ctx, "charge_card", amount, result)
	case "transfer":
		amount["payee"], amount["account"] = in.Customer, in.Account
		err = d.use(ctx, "transfer_money", amount, map[string]string{"transfer": "tr_" + in.Invoice})
	case "close":
		if err = d.use(ctx, "get_ledger", map[string]string{"month": in.Month}, map[string]any{"entries": len(in.Entries)}); err != nil {
			break
		}
		if _, err = d.think(ctx, roleClerk, "the books of "+in.Month); err == nil {
			err = d.use(ctx, "post_journal", map[string]any{"month": in.Month, "entries": in.Entries}, map[string]int{"posted": len(in.Entries)})
		}
	}
	return map[string]any{"did": in.Do, "invoice": in.Invoice}, err
}
