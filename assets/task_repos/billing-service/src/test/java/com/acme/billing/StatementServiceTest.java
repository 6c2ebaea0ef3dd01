package com.acme.billing;

import static com.acme.billing.testkit.Assertions.assertAmount;
import static com.acme.billing.testkit.Assertions.assertEquals;
import static com.acme.billing.testkit.Assertions.assertThrows;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Invoice;
import com.acme.billing.model.LineItem;
import com.acme.billing.model.Money;
import com.acme.billing.repository.CreditNoteRepository;
import com.acme.billing.repository.InvoiceRepository;
import com.acme.billing.repository.PaymentRepository;
import com.acme.billing.service.AuditLog;
import com.acme.billing.service.CreditNoteService;
import com.acme.billing.service.StatementService;
import com.acme.billing.testkit.Test;
import java.math.BigDecimal;
import java.time.Clock;
import java.util.List;

public final class StatementServiceTest {

    @Test
    public void aCreditNoteLowersWhatIsOwed() {
        InvoiceRepository invoices = new InvoiceRepository();
        CreditNoteRepository notes = new CreditNoteRepository();
        AuditLog audit = new AuditLog(Clock.systemUTC());
        CreditNoteService credits = new CreditNoteService(invoices, notes, audit);
        invoices.save(Invoice.open("inv-1", "cus-1",
            List.of(new LineItem("seats", 1, new BigDecimal("80.00"))), Money.ZERO));

        assertEquals("CN-000001", credits.issue("inv-1", new BigDecimal("30.00"), "late").number());
        assertThrows(BillingException.class,
            () -> credits.issue("inv-1", new BigDecimal("50.01"), "later"));

        assertAmount("50.00", new StatementService(invoices, new PaymentRepository(), notes)
            .statementFor("cus-1").balance());
        assertEquals(1, audit.about("CN-000001").size());
    }
}
