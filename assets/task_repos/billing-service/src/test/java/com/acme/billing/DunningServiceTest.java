package com.acme.billing;

import static com.acme.billing.testkit.Assertions.assertEquals;

import com.acme.billing.model.Customer;
import com.acme.billing.model.Invoice;
import com.acme.billing.model.LineItem;
import com.acme.billing.model.Money;
import com.acme.billing.repository.CustomerRepository;
import com.acme.billing.repository.InvoiceRepository;
import com.acme.billing.service.AuditLog;
import com.acme.billing.service.DunningService;
import com.acme.billing.testkit.Test;
import java.math.BigDecimal;
import java.time.Clock;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;

public final class DunningServiceTest {

    @Test
    public void remindsOnceWhenAnInvoiceIsLate() {
        InvoiceRepository invoices = new InvoiceRepository();
        CustomerRepository customers = new CustomerRepository();
        List<String> sent = new ArrayList<>();
        customers.save(new Customer("cus-1", "Ada", "ada@example.org", "north"));
        invoices.save(Invoice.open("inv-1", "cus-1",
            List.of(new LineItem("seats", 1, new BigDecimal("80.00"))), Money.ZERO));
        DunningService service = new DunningService(invoices, customers,
            (email, topic, subject) -> sent.add(email + " " + topic + " " + subject),
            new AuditLog(Clock.systemUTC()));
        LocalDate due = LocalDate.of(2023, 4, 30);
        service.watch("inv-1", due);

        assertEquals(List.of(), service.remind(due.plusDays(6)));
        assertEquals(List.of(new DunningService.Reminder("inv-1", 1)), service.remind(due.plusDays(7)));
        assertEquals(List.of(), service.remind(due.plusDays(8)));
        assertEquals(List.of("ada@example.org reminder-1 inv-1"), sent);
    }
}
